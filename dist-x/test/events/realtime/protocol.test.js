import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connected, frame, handshake, holder, openSession, plantWebsites, Raw } from '../../support/events/realtime.js';
import { openTestGateway } from '../../support/gateway.js';
let gateway;
let token;
const TEXT = 0x81;
const FIN = 0x80;
beforeAll(async () => {
    gateway = await openTestGateway('empty', undefined, undefined, { silence: 1_500, heartbeat: 500, check: 200 });
    await plantWebsites(gateway.database.sql, 2);
    ({ token } = await holder(gateway));
});
afterAll(() => gateway.close());
async function opened() {
    const raw = new Raw(gateway.port);
    expect(await raw.upgrade(handshake(await openSession(gateway, token)))).toBe(101);
    return raw;
}
describe('WS-03', () => {
    const ping = Buffer.from('{"type":"ping","id":1}');
    it.concurrent.each([
        ['an unmasked frame', frame(TEXT, ping, false), 1002],
        ['a reserved bit', frame(TEXT | 0x40, ping), 1002],
        ['another reserved bit', frame(TEXT | 0x10, ping), 1002],
        ['an unknown opcode', frame(FIN | 3, ping), 1002],
        ['an unknown control opcode', frame(FIN | 11, Buffer.alloc(0)), 1002],
        ['a control frame of 126 bytes', frame(FIN | 9, Buffer.alloc(126)), 1002],
        ['a control frame in fragments', frame(9, Buffer.alloc(2)), 1002],
        ['a continuation of nothing', frame(FIN, ping), 1002],
        ['a close code that does not exist', frame(FIN | 8, Buffer.from([3, 237])), 1002],
        ['a close of one byte', frame(FIN | 8, Buffer.from([3])), 1002],
        ['text that is not UTF-8', frame(TEXT, Buffer.from([0x22, 0xc3, 0x28, 0x22])), 1007],
        ['a message of 16 KiB and a byte', frame(TEXT, Buffer.alloc(16 * 1024 + 1, 32)), 1009],
        [
            'a message of 16 KiB and a byte in two parts',
            Buffer.concat([frame(1, Buffer.alloc(16_000, 32)), frame(FIN, Buffer.alloc(385, 32))]),
            1009,
        ],
        ['bytes', frame(FIN | 2, ping), 4400],
        ['no JSON', frame(TEXT, Buffer.from('ping')), 4400],
        ['a member twice', frame(TEXT, Buffer.from('{"type":"ping","id":1,"id":2}')), 4400],
        ['an unknown type', frame(TEXT, Buffer.from('{"type":"pull","id":1}')), 4400],
        ['an unknown member', frame(TEXT, Buffer.from('{"type":"ping","id":1,"x":1}')), 4400],
        ['a frame of the server', frame(TEXT, Buffer.from('{"type":"pong","id":1}')), 4400],
        ['an id that is none', frame(TEXT, Buffer.from('{"type":"attach","id":"a","subscription_id":"sub_1"}')), 4400],
        ['a list', frame(TEXT, Buffer.from('[]')), 4400],
        ['an empty message', frame(TEXT, Buffer.alloc(0)), 4400],
    ])('%s closes the socket', async (_, bytes, code) => {
        const raw = await opened();
        raw.socket.write(bytes);
        expect(await raw.closeCode()).toBe(code);
    });
    it('16 KiB are taken, and no compression is agreed on', async () => {
        const raw = new Raw(gateway.port);
        const session = await openSession(gateway, token);
        const offer = { 'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits' };
        expect(await raw.upgrade(handshake(session, offer))).toBe(101);
        const head = raw.received.toString('latin1').split('\r\n\r\n')[0] ?? '';
        expect(head).not.toMatch(/extensions/i);
        expect(head).toMatch(/\r\nSec-WebSocket-Protocol: igw\.realtime\.v1(\r\n|$)/);
        expect(head).not.toContain(session.ticket);
        const padded = `{"type":"ping","id":1}${' '.repeat(16 * 1024 - 22)}`;
        raw.socket.write(frame(TEXT, Buffer.from(padded)));
        await pause(300);
        expect(raw.received.toString('latin1')).toContain('{"type":"pong","id":1}');
        raw.socket.destroy();
    });
});
describe('WS-04', () => {
    it('ten thousand tiny fragments are cut off early', async () => {
        const raw = await opened();
        const before = process.memoryUsage().rss;
        raw.socket.write(frame(1, Buffer.from('{')));
        for (let i = 0; i < 10_000; i++)
            raw.socket.write(frame(0, Buffer.from(' ')));
        expect(await raw.closeCode()).toBe(1008);
        expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    });
    it.each([
        ['pings of the protocol', frame(FIN | 9, Buffer.from('x'))],
        ['frames', frame(TEXT, Buffer.from('{"type":"ping","id":1}'))],
    ])('a flood of %s is cut off', async (_, bytes) => {
        const raw = await opened();
        for (let i = 0; i < 2_000; i++)
            raw.socket.write(bytes);
        expect(await raw.closeCode()).toBe(1008);
    });
    it('twenty frames a second for three seconds are not', async () => {
        const client = await connected(gateway, token);
        for (let i = 0; i < 60; i++) {
            client.send({ type: 'ping', id: i });
            await pause(50);
        }
        await client.next('pong');
        expect(client.socket.readyState).toBe(client.socket.OPEN);
        client.end();
    });
    it('a client that answers no ping is cut after the silence, one that does is not', async () => {
        const deaf = await opened();
        const began = performance.now();
        const client = await connected(gateway, token);
        await deaf.ended;
        expect(performance.now() - began).toBeGreaterThan(1_000);
        expect(performance.now() - began).toBeLessThan(3_000);
        await pause(1_500);
        expect(client.socket.readyState).toBe(client.socket.OPEN);
        client.end();
    });
});
describe('WS-09', () => {
    it('a thousand upgrades that never end leave no connection behind, and others get in meanwhile', async () => {
        const halves = Array.from({ length: 1_000 }, () => new Raw(gateway.port));
        const half = handshake({ session_id: `rts_${'0'.repeat(32)}`, ticket: 'x'.repeat(43) }).slice(0, -20);
        for (const raw of halves)
            raw.socket.write(half);
        await pause(500);
        const client = await connected(gateway, token);
        client.end();
        // The longest wait is headersTimeout plus the interval at which Node checks this timeout
        // (src/surfaces/http/server.ts).
        await Promise.race([Promise.all(halves.map(({ ended }) => ended)), pause(16_000)]);
        expect(halves.filter(({ socket }) => !socket.destroyed)).toHaveLength(0);
        expect(gateway.realtime.size).toBe(0);
    });
});
//# sourceMappingURL=protocol.test.js.map