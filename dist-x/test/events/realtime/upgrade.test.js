import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer } from '../../../src/surfaces/http/server.js';
import { realtimeSurface } from '../../../src/surfaces/realtime/realtime.js';
import { CERTIFICATE, KEY } from '../../support/events/certificate.js';
import { Client, connected, handshake, holder, openSession, plantWebsites, Raw, } from '../../support/events/realtime.js';
import { BASE_URL, openTestGateway } from '../../support/gateway.js';
let gateway;
let token;
const servers = [];
beforeAll(async () => {
    gateway = await openTestGateway('empty');
    await plantWebsites(gateway.database.sql, 2);
    ({ token } = await holder(gateway));
});
afterAll(async () => {
    await gateway.realtime.stop();
    await Promise.all(servers.map((server) => server.close()));
    await gateway.close();
});
/**
 * Starts a separate server that also serves the gateway's sockets. The server answers every other request with 200 and
 * the path. The server delays some of these answers.
 */
async function serverWith({ secure = false, realtime = gateway.realtime } = {}) {
    const server = await startServer({
        host: '127.0.0.1',
        baseUrl: BASE_URL,
        port: 0,
        tls: secure ? { key: Buffer.from(KEY), cert: Buffer.from(CERTIFICATE) } : undefined,
        log: pino({ level: 'silent' }),
        handlers: [],
        otherwise: (request, response) => {
            setTimeout(() => response.end(`path ${request.url}`), request.url === '/slow' ? 500 : 0);
        },
        upgrade: realtimeSurface(realtime),
    });
    servers.push(server);
    return server;
}
describe('an offer to upgrade', () => {
    it.each([false, true])('is ignored, refused and accepted, over TLS: %s', async (secure) => {
        const { port } = await serverWith({ secure });
        for (const path of ['/one', '/two']) {
            const raw = new Raw(port, { secure });
            const offer = 'Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n';
            expect(await raw.upgrade(`GET ${path} HTTP/1.1\r\n${offer}\r\n`)).toBe(200);
            expect(raw.received.toString()).toMatch(new RegExp(`\r\n\r\npath ${path}$`));
            await raw.ended;
        }
        const session = await openSession(gateway, token);
        const raw = new Raw(port, { secure });
        expect(await raw.upgrade(handshake(session, { 'Sec-WebSocket-Version': '8' }))).toBe(426);
        await raw.ended;
        const accepted = new Raw(port, { secure });
        expect(await accepted.upgrade(handshake(session))).toBe(101);
        accepted.socket.destroy();
    });
});
describe('WS-09 who is refused keeps no connection', () => {
    const files = () => readdirSync('/proc/self/fd').length;
    const bad = () => handshake({ session_id: `rts_${'0'.repeat(32)}`, ticket: 'x'.repeat(43) });
    it.each([
        ['an upgrade, and does not close its side', bad, false, 75],
        ['an upgrade, and does not read', bad, true, 75],
        // When a reply has the header "Connection: close", Node ends the connection at once.
        ['CONNECT, and does not close its side', () => 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', false, 0],
        ['CONNECT, and does not read', () => 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', true, 0],
    ])('%s', async (_, bytes, deaf, lingering) => {
        const before = files();
        const sockets = [];
        for (let i = 0; i < 50; i++) {
            const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
            socket.on('error', () => undefined); // the gateway may cut the connection instead of answering
            if (deaf)
                socket.pause();
            else
                socket.resume();
            socket.write(bytes());
            sockets.push(socket);
        }
        await pause(700);
        expect(files() - before, 'before they are cut').toBeGreaterThan(lingering);
        await pause(2_500);
        // The server and the clients run in this process, so the process still has one open file for each client that has
        // not closed.
        expect(files() - before).toBeLessThan(65);
        for (const socket of sockets)
            socket.destroy();
        await pause(50);
    });
});
describe('a refusal', () => {
    it('has the body of the other problems, and 426 says what to upgrade to, over REST too', async () => {
        const session = await openSession(gateway, token);
        const raw = new Raw(gateway.port);
        await raw.upgrade(handshake(session, { 'Sec-WebSocket-Version': '8' }));
        await raw.ended;
        const [head = '', text = ''] = raw.received.toString().split('\r\n\r\n');
        expect(head).toMatch(/\r\nUpgrade: websocket\r\n/);
        expect(head).toMatch(/\r\nConnection: upgrade, close(\r\n|$)/);
        const [, requestId] = /\r\nX-Request-Id: (\S+)/.exec(head) ?? [];
        const rest = await gateway.ask(`/api/v1/realtime/sessions/${session.session_id}/socket`, {
            token,
            headers: { origin: 'https://app.example' },
        });
        expect([rest.status, rest.headers.upgrade]).toEqual([426, 'websocket']);
        expect(JSON.parse(text)).toEqual({ ...rest.body, request_id: requestId });
        expect(rest.body.type).toBe(`${BASE_URL}/problems/upgrade_required`);
    });
    it('an upgrade that comes behind a request under way is not answered before it', async () => {
        const { port } = await serverWith();
        const session = await openSession(gateway, token);
        for (const change of [{}, { 'Sec-WebSocket-Version': '8' }, { Upgrade: 'h2c' }]) {
            const raw = new Raw(port);
            raw.socket.write(`GET /slow HTTP/1.1\r\nHost: a\r\n\r\n${handshake(session, change)}`);
            await Promise.race([raw.ended, pause(3_000)]);
            expect(raw.socket.destroyed).toBe(true);
            expect(raw.received.toString()).toBe('');
        }
    });
});
it('WS-09 a process that has ten thousand sockets takes no more, and the ticket still works elsewhere', async () => {
    const { port } = await serverWith({ realtime: { ...gateway.realtime, size: 10_000 } });
    const session = await openSession(gateway, token);
    const raw = new Raw(port);
    expect(await raw.upgrade(handshake(session))).toBe(503);
    expect(raw.received.toString()).toMatch(/\r\nRetry-After: 1\r\n/);
    const accepted = new Raw(gateway.port);
    expect(await accepted.upgrade(handshake(session))).toBe(101);
    for (const { socket } of [raw, accepted])
        socket.destroy();
});
describe('the log', () => {
    const lines = () => gateway.log.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
    const sockets = () => lines().filter(({ operation }) => operation === 'realtime_socket');
    it('LG-02 tells of each socket, with its credential, and of its end with the cause', async () => {
        const own = await holder(gateway);
        const of = () => sockets().filter(({ credential }) => credential === own.credential);
        const leaves = await connected(gateway, own.token);
        expect(of()).toMatchObject([{ status: 101, msg: 'request', level: 30 }]);
        leaves.socket.close();
        await leaves.closed;
        await pause(100);
        expect(of()[1]).toMatchObject({ msg: 'socket closed', closed: 1005, reason: 'client' });
        const floods = await connected(gateway, own.token);
        for (let i = 0; i < 200; i++)
            floods.send({ type: 'ping', id: 1 });
        expect(await floods.closed).toBe(1008);
        await pause(100);
        expect(of()[3]).toMatchObject({ msg: 'socket closed', closed: 1008, reason: 'flood' });
        expect(of()[3]?.request_id).toBe(of()[2]?.request_id);
    });
    it('of one that failed with its code and cause', async () => {
        const session = await openSession(gateway, token);
        await gateway.database.sql `ALTER TABLE gateway.realtime_session RENAME COLUMN ticket_digest TO hidden`;
        const client = new Client(gateway.port, session);
        await client.closed;
        await gateway.database.sql `ALTER TABLE gateway.realtime_session RENAME COLUMN hidden TO ticket_digest`;
        const last = sockets().at(-1);
        expect(last).toMatchObject({ status: 500, code: 'internal', level: 50 });
        expect(JSON.stringify(last?.err)).toContain('ticket_digest');
    });
});
//# sourceMappingURL=upgrade.test.js.map