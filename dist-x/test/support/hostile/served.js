import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { addressOf, freshDatabase } from '../database.js';
import { startReplica } from '../replica.js';
export async function serve(env = {}) {
    const database = await freshDatabase('demo');
    const replica = await startReplica({
        databaseUrl: addressOf(database),
        env: { LOG_LEVEL: 'info', ...env },
    });
    const metrics = async () => (await fetch(`${replica.url}/metrics`)).text();
    const held = async () => {
        const text = await metrics();
        const value = (name) => Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
        return {
            connections: value('gateway_http_connections'),
            requests: value('gateway_http_requests'),
            waiting: value('gateway_http_requests_waiting'),
            unread: value('gateway_http_unread_bytes'),
        };
    };
    return {
        database,
        port: Number(new URL(replica.url).port),
        url: replica.url,
        lines: () => replica
            .log()
            .split('\n')
            .filter((line) => line.startsWith('{'))
            // The log lines have the members of `Line`. A missing member is undefined.
            .map((line) => JSON.parse(line)),
        metrics,
        held,
        rss: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${replica.pid}/status`, 'utf8'))?.[1]) / 1024,
        async quiet(seconds = 40) {
            await expect
                .poll(held, { timeout: seconds * 1000, interval: 100 })
                .toMatchObject({ requests: 1, waiting: 0, unread: 0 });
            await pause(700); // the gateway writes its log lines every half second
        },
        async close() {
            await replica.end();
            await database.close();
        },
    };
}
export class Client {
    socket;
    received = '';
    closed;
    constructor(port) {
        this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
        this.socket.on('error', () => undefined); // the server may close with a reset
        this.socket.on('data', (part) => {
            this.received += part.toString('latin1');
        });
        this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
        this.socket.once('end', () => this.socket.end());
    }
    write(bytes) {
        if (this.socket.writable)
            this.socket.write(bytes, 'latin1');
    }
    answers() {
        return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) [^\r]*\r\n((?:[^\r]+\r\n)*)\r\n/g)].flatMap((match) => {
            const id = /^x-request-id: (\S+)/im.exec(match[2] ?? '')?.[1];
            return id === undefined ? [] : [{ status: Number(match[1]), id }];
        });
    }
    /** Sends bytes and waits for the end of the connection, at most `patience` milliseconds. */
    static async send(port, bytes, patience = 3_000) {
        const client = new Client(port);
        client.write(bytes);
        await Promise.race([client.closed, pause(patience)]);
        client.socket.destroy();
        return client;
    }
}
export function http(line, headers = [], body) {
    const own = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
    return [`${line} HTTP/1.1`, 'Host: 127.0.0.1', ...headers, ...own, '', body ?? ''].join('\r\n');
}
export const bearer = (token) => `Authorization: Bearer ${token}`;
export const mcp = (token, name, input) => http('POST /mcp', [bearer(token), 'Content-Type: application/json', 'Accept: application/json, text/event-stream'], JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }));
export const note = (token, text) => http('POST /api/v1/visitors/vis_1_1_96/notes', [bearer(token), 'Content-Type: application/json', `Idempotency-Key: ${text.replaceAll(' ', '-')}`], JSON.stringify({ text }));
//# sourceMappingURL=served.js.map