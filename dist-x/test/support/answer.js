import { request as httpRequest } from 'node:http';
export function exchange(options, body) {
    return new Promise((resolve, reject) => {
        const request = httpRequest({ host: '127.0.0.1', ...options }, (response) => {
            const parts = [];
            response.on('data', (part) => parts.push(part));
            response.on('error', reject);
            response.on('end', () => {
                const bytes = Buffer.concat(parts);
                const text = bytes.toString('utf8');
                const json = /(?<!nd)json/.test(response.headers['content-type'] ?? '') && text !== '';
                resolve({
                    status: response.statusCode ?? 0,
                    headers: response.headers,
                    text,
                    bytes,
                    body: json ? JSON.parse(text) : undefined,
                });
            });
        });
        request.on('error', reject);
        request.end(body);
    });
}
//# sourceMappingURL=answer.js.map