import { createServer } from 'node:http';
/** Parses the Prometheus text format 0.0.4. Throws for an invalid line, or a metric in two separate blocks. */
export function readScrape(text) {
    const declared = new Set();
    return text
        .split('\n')
        .filter((line) => line !== '')
        .flatMap((line) => {
        const [, type] = /^# TYPE (\S+) (?:counter|gauge|histogram|summary)$/.exec(line) ?? [];
        if (type !== undefined) {
            if (declared.has(type))
                throw new Error(`${type} has two blocks`);
            declared.add(type);
        }
        if (line.startsWith('# '))
            return [];
        const [, name = '', labels = '', value = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|[+-]Inf|Nan)$/.exec(line) ?? [];
        if (!declared.has(name.replace(/_(bucket|sum|count)$/, '')) && !declared.has(name))
            throw new Error(`no series: ${line}`);
        const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)",?/g)];
        return [
            { name, labels: Object.fromEntries(pairs.map(([, key = '', of = '']) => [key, of])), value: Number(value) },
        ];
    });
}
export function sumOf(series, name, labels = {}) {
    const found = series.filter((one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value));
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}
const plain = (attributes) => Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
/** An OTLP collector over HTTP on loopback. With `answer` false, it never answers. */
export async function openCollector(answer = true) {
    const collected = { spans: [], bodies: [], headers: [] };
    const server = createServer((request, response) => {
        let body = '';
        request.on('data', (part) => {
            body += part.toString();
        });
        request.on('end', () => {
            collected.headers.push(request.headers);
            collected.bodies.push(`${request.method} ${request.url} ${body}`);
            const sent = JSON.parse(body);
            for (const { resource, scopeSpans } of sent.resourceSpans)
                for (const { spans } of scopeSpans)
                    for (const span of spans)
                        collected.spans.push({ ...span, attributes: { ...plain(resource.attributes), ...plain(span.attributes) } });
            if (answer)
                response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
        });
    });
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    // A server that listens on a port has an AddressInfo.
    const { port } = server.address();
    return {
        ...collected,
        url: `http://127.0.0.1:${port}`,
        close: () => new Promise((resolve) => {
            server.close(() => resolve());
            server.closeAllConnections();
        }),
    };
}
//# sourceMappingURL=observe.js.map