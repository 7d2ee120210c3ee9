import { createServer, request as httpRequest } from 'node:http';
/** `other` gives the HTML of every page that is not the gateway's, or undefined for a request to the gateway. */
export async function openBrowserProxy(gateway, other) {
    const tunnels = [];
    const proxy = createServer((from, to) => {
        const url = new URL(from.url ?? '');
        const page = other(url);
        if (page !== undefined) {
            to.setHeader('Content-Type', 'text/html').end(page);
            return;
        }
        const options = { host: '127.0.0.1', port: gateway.port, method: from.method, headers: from.headers };
        const onward = httpRequest({ ...options, path: url.pathname + url.search }, (answer) => {
            to.writeHead(answer.statusCode ?? 500, answer.headers);
            answer.pipe(to);
        });
        onward.on('error', () => to.destroy());
        from.pipe(onward);
    });
    proxy.on('connect', ({ url = '' }, socket) => {
        tunnels.push(url);
        socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address(); // the cast is sound, because the address of a TCP server is an AddressInfo
    return {
        server: `http://127.0.0.1:${port}`,
        tunnels,
        close: () => new Promise((resolve) => {
            proxy.close(() => resolve());
            proxy.closeAllConnections();
        }),
    };
}
//# sourceMappingURL=browser-proxy.js.map