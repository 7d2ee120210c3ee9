import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Parser } from 'htmlparser2';

export interface TckResult {
  /** The name of the file and of the test, such as `test_tasks_get_method.test_tasks_get_valid`. */
  readonly test: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly reason: string;
}

/** Reads the report that pytest writes with `--junitxml`. */
export function readReport(xml: string): TckResult[] {
  const results: TckResult[] = [];
  const end = (outcome: TckResult['outcome'], { message = '' }: Record<string, string>): void => {
    const last = results.pop();
    if (last) results.push({ ...last, outcome, reason: message.split('\n')[0] ?? '' });
  };
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        const { classname = '', name: test = '' } = attributes;
        if (name === 'testcase') {
          const file = classname.split('.').find((one) => one.startsWith('test_')) ?? classname;
          results.push({ test: `${file}.${test}`, outcome: 'passed', reason: '' });
        }
        if (name === 'failure' || name === 'error') end('failed', attributes);
        if (name === 'skipped') end('skipped', attributes);
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(xml);
  return results;
}

/** The categories of the TCK: their folders, and the marks of their tests. */
const CATEGORIES = {
  mandatory: ['tests/mandatory', '-m', 'mandatory or mandatory_protocol or mandatory_jsonrpc'],
  capabilities: ['tests/optional/capabilities'],
} as const;

export type Category = keyof typeof CATEGORIES;

interface TckOptions {
  /** A checkout of the TCK. */
  readonly folder: string;
  readonly url: string;
  /** A token of a new installation. One has at most 100 tasks, so each file of tests has its own. */
  readonly issue: () => Promise<string>;
  readonly category: Category;
}

/** Runs one category of the TCK, file by file. TCK_PYTHON names a Python that has its packages. */
export async function runTck({ folder, url, issue, category }: TckOptions): Promise<TckResult[]> {
  const [path, ...marks] = CATEGORIES[category];
  const files = readdirSync(join(folder, path), { recursive: true, encoding: 'utf8' })
    .filter((name) => /(^|\/)test_[^/]+\.py$/.test(name))
    .toSorted();
  const results: TckResult[] = [];
  for (const file of files) {
    const args = [join(path, file), ...marks, `--sut-url=${url}`, '--test-scope=all', '--transports', 'jsonrpc'];
    results.push(...(await pytest(folder, args, await issue())));
  }
  return results;
}

async function pytest(folder: string, args: readonly string[], token: string): Promise<TckResult[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'tck-'));
  const report = join(scratch, 'report.xml');
  const options = ['--tb=line', '-q', '-p', 'no:cacheprovider', `--junitxml=${report}`];
  const child = spawn(process.env['TCK_PYTHON'] ?? 'python3', ['-m', 'pytest', ...args, ...options], {
    cwd: folder,
    // Bytecode would change the checkout.
    env: { ...process.env, A2A_AUTH_TYPE: 'bearer', A2A_AUTH_TOKEN: token, PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      printed += part;
    });
  try {
    await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
    if (!existsSync(report)) throw new Error(`pytest wrote no report:\n${printed}`);
    return readReport(readFileSync(report, 'utf8'));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** A body as the gateway shall get it. Undefined: as it is. */
type Adapt = (body: string) => Promise<string | undefined>;

/**
 * A proxy on loopback that adds the header A2A-Version, which the TCK does not send, and adapts bodies. Some tests of the
 * TCK look for the card below the address of the endpoint.
 */
export async function openAdapter(port: number, adapt: Adapt) {
  const forward = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part);
    const sent = Buffer.concat(parts);
    const body = (sent.length > 0 ? await adapt(sent.toString('utf8')) : undefined) ?? sent;
    const { 'content-length': _, 'transfer-encoding': __, ...headers } = incoming.headers;
    const onward = httpRequest(
      {
        ...{ host: '127.0.0.1', port, path: incoming.url?.replace(/^\/a2a(?=\/)/, ''), method: incoming.method },
        headers: {
          'a2a-version': '1.0',
          ...headers,
          ...(body.length > 0 && { 'content-length': Buffer.byteLength(body) }),
        },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    onward.end(body);
  };
  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    // A listening TCP server always has an address with a port.
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
