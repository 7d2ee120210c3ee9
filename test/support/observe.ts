import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Parses the Prometheus text format 0.0.4. Throws for an invalid line, or a metric in two separate blocks. */
export function readScrape(text: string): Series[] {
  const declared = new Set<string>();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      const [, type] = /^# TYPE (\S+) (?:counter|gauge|histogram|summary)$/.exec(line) ?? [];
      if (type !== undefined) {
        if (declared.has(type)) throw new Error(`${type} has two blocks`);
        declared.add(type);
      }
      if (line.startsWith('# ')) return [];
      const [, name = '', labels = '', value = ''] =
        /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|[+-]Inf|Nan)$/.exec(line) ?? [];
      if (!declared.has(name.replace(/_(bucket|sum|count)$/, '')) && !declared.has(name))
        throw new Error(`no series: ${line}`);
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)",?/g)];
      return [
        { name, labels: Object.fromEntries(pairs.map(([, key = '', of = '']) => [key, of])), value: Number(value) },
      ];
    });
}

export function sumOf(
  series: readonly Series[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = series.filter(
    (one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}

export interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: { readonly code?: number };
}

export interface Collector {
  readonly url: string;
  readonly spans: WireSpan[];
  readonly bodies: string[];
  readonly headers: IncomingHttpHeaders[];
  close(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}
interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<WireSpan, 'attributes'> & { readonly attributes: readonly Attribute[] })[];
    }[];
  }[];
}

const plain = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** An OTLP collector over HTTP on loopback. With `answer` false, it never answers. */
export async function openCollector(answer = true): Promise<Collector> {
  const collected: Pick<Collector, 'spans' | 'bodies' | 'headers'> = { spans: [], bodies: [], headers: [] };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => {
      body += part.toString();
    });
    request.on('end', () => {
      collected.headers.push(request.headers);
      collected.bodies.push(`${request.method} ${request.url} ${body}`);
      const sent: Sent = JSON.parse(body);
      for (const { resource, scopeSpans } of sent.resourceSpans)
        for (const { spans } of scopeSpans)
          for (const span of spans)
            collected.spans.push({ ...span, attributes: { ...plain(resource.attributes), ...plain(span.attributes) } });
      if (answer) response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  // A server that listens on a port has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  return {
    ...collected,
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
