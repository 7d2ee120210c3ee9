import { createServer as createSecure } from 'node:https';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { webhookMessage } from '../../src/events/webhooks/message.js';
import { waitAfter } from '../../src/events/webhooks/schedule.js';
import { retryAfterOf, send, senderOptions } from '../../src/outbound/sender.js';
import { newWebhookSecret } from '../../src/outbound/signature.js';
import { CERTIFICATE, KEY } from '../support/events/certificate.js';
const open = [];
const sockets = new Set();
afterEach(async () => {
    for (const socket of sockets)
        socket.destroy();
    await Promise.all(open.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});
async function listening(server) {
    open.push(server);
    server.on('connection', (socket) => {
        sockets.add(socket);
        socket.on('error', () => undefined); // the sender of the webhook cuts this connection
        socket.once('close', () => sockets.delete(socket));
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
}
const raw = (speak) => listening(createServer((socket) => void socket.once('data', () => speak(socket))));
async function attempt(origin, deadline = 600, more = {}) {
    const began = performance.now();
    const outcome = await (more.sender ?? send)({
        at: Date.now(),
        url: `${origin}/hook`,
        secrets: [newWebhookSecret()],
        message: webhookMessage({
            number: 1,
            test: false,
            gapSince: null,
            receipt: {
                event_id: `evt_${'0'.repeat(64)}`,
                event_type: 'visitor.changed',
                website_id: 'web_1_1',
                cursor: 1,
                occurred_at: 1,
                recorded_at: 1,
            },
        }),
    }, {
        ...senderOptions(new Set([origin]), 'http://127.0.0.1:8420'),
        deadline,
        ...(more.resolve && { resolve: more.resolve }),
    }, more.stop);
    return { ...outcome, took: performance.now() - began };
}
const following = async ({ url }) => ({
    status: (await fetch(url, { method: 'POST', redirect: 'follow' })).status,
    retryAfter: undefined,
});
const HEAD = 'HTTP/1.1 200 OK\r\n';
describe('WH-08 responses', () => {
    it('100 MB are read up to 64 KiB, and cut', async () => {
        let written = 0;
        const port = await raw((socket) => {
            const part = Buffer.alloc(65_536);
            socket.write(`${HEAD}content-length: 104857600\r\n\r\n`);
            const more = () => {
                while (!socket.destroyed && written < 104_857_600) {
                    written += part.length;
                    if (!socket.write(part))
                        return void socket.once('drain', more);
                }
            };
            more();
        });
        const outcome = await attempt(`http://127.0.0.1:${port}`, 5_000);
        expect(outcome).toMatchObject({ status: 200 });
        expect(outcome.took).toBeLessThan(2_000);
        // The gateway stops reading much earlier. The limit is 16 MiB, because the kernel's buffers take bytes that the
        // gateway never reads.
        expect(written).toBeLessThan(16 * 1_048_576);
    });
    it.each([
        ['nothing at all', 'timeout', () => undefined],
        ['a header a time', 'timeout', (socket) => drip(socket, HEAD, (n) => `x-${n}: y\r\n`)],
        [
            'a byte of the body a time',
            'timeout',
            (socket) => drip(socket, `${HEAD}content-length: 9999\r\n\r\n`, () => 'x'),
        ],
        [
            'a chunk a time',
            'timeout',
            (socket) => drip(socket, `${HEAD}transfer-encoding: chunked\r\n\r\n`, () => '1\r\nx\r\n'),
        ],
        ['100 Continue, and nothing more', 'timeout', (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n')],
        [
            '100 Continue for ever',
            'connection_failed',
            (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(20)),
        ],
        ['a reset', 'connection_failed', (socket) => socket.resetAndDestroy()],
        ['an end', 'connection_failed', (socket) => socket.end()],
        ['no HTTP', 'connection_failed', (socket) => socket.end('SSH-2.0-x\r\n')],
        ['headers beyond bounds', 'connection_failed', (socket) => socket.end(`${HEAD}x: ${'y'.repeat(100_000)}\r\n\r\n`)],
        ['half of a body', 'response_broken', (socket) => socket.end(`${HEAD}content-length: 99\r\n\r\nhalf`)],
        [
            'a reset within the body',
            'response_broken',
            (socket) => {
                socket.write(`${HEAD}content-length: 99\r\n\r\nhalf`, () => setTimeout(() => socket.resetAndDestroy(), 50));
            },
        ],
    ])('%s is a failure: %s', async (_, error, speak) => {
        const outcome = await attempt(`http://127.0.0.1:${await raw(speak)}`);
        expect(outcome).toMatchObject({ error });
        expect(outcome.took).toBeLessThan(900);
        if (error === 'timeout')
            expect(outcome.took).toBeGreaterThan(550);
    });
    it.each([
        ['the sender', send, 0],
        ['a sender that does, for the test’s power', following, 1],
    ])('a redirect is not followed: %s', async (_, sender, followed) => {
        let reached = 0;
        const honeypot = await raw((socket) => {
            reached++;
            socket.end(`${HEAD}content-length: 0\r\n\r\n`);
        });
        const port = await raw((socket) => socket.end(`HTTP/1.1 307 No\r\nlocation: http://127.0.0.1:${honeypot}/\r\ncontent-length: 0\r\n\r\n`));
        const outcome = await attempt(`http://127.0.0.1:${port}`, 2_000, { sender });
        expect([outcome, reached]).toMatchObject([{ status: followed ? 200 : 307 }, followed]);
    });
    it('a protocol that is not asked for is no success', async () => {
        const port = await raw((socket) => socket.write('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'));
        expect(await attempt(`http://127.0.0.1:${port}`)).toMatchObject({ status: 101 });
    });
    it('nobody listens', async () => {
        const port = await listening(createServer());
        await new Promise((resolve) => open.pop()?.close(resolve));
        expect(await attempt(`http://127.0.0.1:${port}`)).toMatchObject({ error: 'connection_failed' });
    });
    it('a certificate that nobody vouches for, with the right name: the delivery is not even sent', async () => {
        let requests = 0;
        const names = [];
        const server = createSecure({
            key: KEY,
            cert: CERTIFICATE,
            SNICallback: (name, done) => {
                names.push(name);
                done(null);
            },
        }, (_, response) => {
            requests++;
            response.end();
        });
        const port = await listening(server);
        server.on('tlsClientError', () => undefined); // the test provokes failed TLS handshakes
        const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
        try {
            for (const setting of ['1', '0']) {
                process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = setting;
                const outcome = await attempt(`https://receiver.example:${port}`, 2_000, {
                    resolve: async () => ['127.0.0.1'],
                });
                expect(outcome).toMatchObject({ error: 'tls_failed' });
            }
        }
        finally {
            if (before === undefined)
                delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
            else
                process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
        }
        expect(requests).toBe(0);
        expect(names).toEqual(['receiver.example', 'receiver.example']);
    });
    it('plain HTTP where TLS is asked for', async () => {
        const port = await raw((socket) => socket.end(`${HEAD}\r\n`));
        expect(await attempt(`https://127.0.0.1:${port}`)).toMatchObject({ error: 'tls_failed' });
    });
    it('the Host header is the receiver’s name, wherever the connection goes', async () => {
        let head = '';
        const port = await listening(createServer((socket) => void socket.once('data', (part) => {
            head = part.toString();
            socket.end(`${HEAD}content-length: 0\r\n\r\n`);
        })));
        expect(await attempt(`http://receiver.example:${port}`, 600, { resolve: async () => ['127.0.0.1'] })).toMatchObject({ status: 200 });
        expect(head).toMatch(new RegExp(`^POST /hook HTTP/1.1\r\n[^]*host: receiver.example:${port}\r\n`, 'i'));
    });
    it('a name that nobody answers for', async () => {
        const outcome = await attempt('https://receiver.example:1', 300, { resolve: () => new Promise(() => undefined) });
        expect(outcome).toMatchObject({ error: 'timeout' });
        const failed = await attempt('https://receiver.example:1', 300, {
            resolve: () => Promise.reject(new Error('ENOTFOUND')),
        });
        expect(failed).toMatchObject({ error: 'name_not_resolved' });
    });
    it('a process that stops', async () => {
        const stop = new AbortController();
        setTimeout(() => stop.abort(), 100);
        expect(await attempt(`http://127.0.0.1:${await raw(() => undefined)}`, 5_000, { stop: stop.signal })).toMatchObject({ error: 'interrupted' });
    });
});
function drip(socket, first, next) {
    socket.write(first);
    let n = 0;
    const timer = setInterval(() => (socket.destroyed ? clearInterval(timer) : void socket.write(next(n++))), 20);
}
describe('the schedule', () => {
    it('each wait lies within a fifth of its delay, and reaches both ends', () => {
        const waits = Array.from({ length: 20_000 }, () => waitAfter([0, 100], 1, undefined) ?? 0);
        expect(Math.min(...waits)).toBeGreaterThanOrEqual(80);
        expect(Math.max(...waits)).toBeLessThanOrEqual(120);
        expect(Math.min(...waits)).toBeLessThan(80.1);
        expect(Math.max(...waits)).toBeGreaterThan(119.9);
    });
    it('ends with the last attempt, whatever Retry-After says', () => {
        expect(waitAfter([0, 1], 2, 60)).toBeNull();
        expect(waitAfter([0, 1], 1, 60)).toBe(60);
        expect(waitAfter([0, 1], 1, 9_999)).toBe(3_600);
        expect(waitAfter([0, 1_000], 1, 1)).toBeGreaterThanOrEqual(800);
    });
    it.each([
        ['0', 0],
        [' 120 ', 120],
        ['Thu, 01 Jan 1970 00:02:00 GMT', 60],
        ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
        ['1.5', undefined],
        ['-1', undefined],
        ['tomorrow', undefined],
        ['2026-11-21', undefined],
        [undefined, undefined],
    ])('Retry-After %s is %s s', (header, seconds) => {
        expect(retryAfterOf(header, 60_000)).toBe(seconds);
    });
});
//# sourceMappingURL=sender.test.js.map