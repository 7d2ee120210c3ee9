import { request as httpRequest } from 'node:http';
/** Sends a message and resolves with the head of its answer. */
export function openStream(port, token, method, params, headers = { 'a2a-version': '1.0' }) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params });
    return new Promise((resolve, reject) => {
        const request = httpRequest({
            ...{ port, path: '/a2a', method: 'POST', agent: false },
            headers: {
                authorization: `Bearer ${token}`,
                'content-type': 'application/json',
                accept: 'text/event-stream',
                ...headers,
            },
        });
        request.on('error', reject).end(body);
        request.on('response', (response) => {
            const events = [];
            let [text, comments, rest] = ['', 0, ''];
            response.setEncoding('utf8').on('data', (part) => {
                text += part;
                const frames = (rest + part).split('\n\n');
                rest = frames.pop() ?? '';
                for (const frame of frames)
                    if (frame.startsWith('data: '))
                        events.push(JSON.parse(frame.slice(6)));
                    else
                        comments++;
            });
            response.on('error', () => undefined);
            resolve({
                status: response.statusCode ?? 0,
                headers: response.headers,
                events,
                comments: () => comments,
                text: () => text,
                ended: new Promise((over) => response.on('close', () => over(response.complete))),
                pause: () => void response.pause(),
                close: () => void request.destroy(),
            });
        });
    });
}
//# sourceMappingURL=a2a-stream.js.map