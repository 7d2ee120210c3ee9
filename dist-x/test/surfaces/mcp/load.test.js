import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/driver/postgres.js';
import { freshDatabase } from '../../support/database.js';
import { openTestGateway } from '../../support/gateway.js';
import { initializeParams, post, rpc } from '../../support/surfaces/mcp.js';
import { PAYING } from '../../support/surfaces/mcp-paying.js';
import { message } from '../../support/surfaces/rpc.js';
import { WEB } from '../../support/surfaces/wire.js';
let database;
let wire;
let gateway;
let token;
let fault;
/** A proxy in front of PostgreSQL that a test can cut. */
class Wire {
    host;
    port;
    folder = mkdtempSync(join(tmpdir(), 'gateway-wire-'));
    #sockets = new Set();
    #server;
    constructor(host, port) {
        this.host = host;
        this.port = port;
    }
    async open() {
        const name = `.s.PGSQL.${this.port}`;
        const server = createServer((near) => {
            const far = connect(join(this.host, name));
            for (const [socket, other] of [
                [near, far],
                [far, near],
            ]) {
                this.#sockets.add(socket);
                socket.on('error', () => other.destroy());
                socket.on('close', () => {
                    this.#sockets.delete(socket);
                    other.destroy();
                });
                socket.pipe(other);
            }
        });
        await new Promise((resolve) => server.listen(join(this.folder, name), resolve));
        this.#server = server;
    }
    async cut() {
        const closed = new Promise((resolve) => this.#server?.close(resolve));
        for (const socket of this.#sockets)
            socket.destroy();
        await closed;
    }
}
beforeAll(async () => {
    database = await freshDatabase('demo');
    wire = new Wire(database.host, database.port);
    await wire.open();
    const target = { host: wire.folder, port: wire.port, database: database.name, username: 'postgres' };
    const db = openDatabase({ target, connections: 4, statementTimeout: 5_000, name: 'mcp-load' });
    const faulty = {
        ...db,
        query: (statement) => (fault ? Promise.reject(fault) : db.query(statement)),
        read: (statement) => (fault ? Promise.reject(fault) : db.read(statement)),
    };
    gateway = await openTestGateway('demo', { ...database, db: faulty, close: () => db.close() });
    ({ token } = await gateway.issue());
});
afterAll(async () => {
    await gateway.close();
    await wire.cut();
    await database.close();
    rmSync(wire.folder, { recursive: true });
});
const list = (limit) => ({ name: 'conversations_list', arguments: { website_id: WEB, limit } });
/**
 * Runs `during` while a lock keeps everybody from reading conversations. `waiting` returns the number of statements
 * that wait for the lock.
 */
async function locked(during) {
    await database.sql.begin(async (transaction) => {
        await transaction `LOCK TABLE platform.conversation IN ACCESS EXCLUSIVE MODE`;
        await during(async () => {
            const [row] = await database.sql `SELECT count(*)::int AS n FROM pg_stat_activity
        WHERE datname = ${database.name} AND application_name = 'mcp-load' AND wait_event_type = 'Lock'`;
            return row?.n ?? 0;
        });
    });
}
async function until(condition) {
    for (let i = 0; i < 200; i++) {
        if (await condition())
            return;
        await sleep(10);
    }
    throw new Error('it did not come about within 2 s');
}
const within = (ms, work) => Promise.race([
    work,
    sleep(ms, undefined, { ref: false }).then(() => Promise.reject(new Error(`nothing in ${ms} ms`))),
]);
describe('MC-13 requests of different clients', () => {
    it('MC-13 notifications/cancelled has no effect on anybody’s running request', async () => {
        const other = await gateway.issue();
        let running;
        await locked(async (waiting) => {
            running = rpc(gateway.port, token, 'tools/call', list(3), { id: 7 });
            await until(async () => (await waiting()) === 1);
            // The request could be known under several ids: the id that its client sent, and small numbers. Try to cancel the
            // request with each of these ids.
            const guesses = ['7', 7, ...Array.from({ length: 100 }, (_, i) => i)];
            for (const bearer of [other.token, token]) {
                for (const requestId of guesses) {
                    const params = { requestId, reason: 'x' };
                    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
                    expect((await post(gateway.port, bearer, body)).status).toBe(202);
                }
            }
            expect(await waiting()).toBe(1);
        });
        const answer = await within(3_000, running ?? Promise.reject(new Error('not sent')));
        expect(answer.body).toMatchObject({ id: 7, result: { isError: false } });
        expect(answer.body.result.structuredContent.data.data.conversations).toHaveLength(3);
    });
    it('MC-13 twenty clients with one request id get an answer each, and each their own', async () => {
        const clients = await Promise.all(Array.from({ length: 20 }, () => gateway.issue()));
        const asked = [];
        await locked(async (waiting) => {
            for (const [i, client] of clients.entries())
                asked.push(rpc(gateway.port, client.token, 'tools/call', list(i + 1), { id: 1 }));
            // The pool has four connections, so the other statements wait for a connection.
            await until(async () => (await waiting()) === 4);
        });
        for (const [i, { body }] of (await within(5_000, Promise.all(asked))).entries()) {
            expect(body).toMatchObject({ id: 1, result: { isError: false } });
            expect(body.result.structuredContent.data.data.conversations).toHaveLength(i + 1);
        }
    });
    it('MC-13 methods of every kind at once, under one id: every answer is its asker’s', async () => {
        const clients = await Promise.all(Array.from({ length: 20 }, (_, i) => gateway.issue({
            scopes: i % 2 === 0 ? ['website_read'] : ['website_read', 'conversation_read'],
            dataAccess: [],
        })));
        for (const client of clients)
            expect((await rpc(gateway.port, client.token, 'ping')).status).toBe(200);
        for (let round = 0; round < 5; round++) {
            const answers = await Promise.all(clients.flatMap((client) => [
                rpc(gateway.port, client.token, 'tools/call', { name: 'gateway_context' }, { id: 1 }),
                rpc(gateway.port, client.token, 'tools/list', undefined, { id: 1 }),
                rpc(gateway.port, client.token, 'initialize', initializeParams(), { id: 1 }),
                rpc(gateway.port, client.token, 'nothing', undefined, { id: 1 }),
            ]));
            for (const [i, client] of clients.entries()) {
                const [context, tools, hello, nothing] = answers.slice(4 * i);
                expect(context?.body.result.isError, context?.text.slice(0, 300)).toBe(false);
                expect(context?.body.result.structuredContent.data.installation_id).toBe(client.installation);
                const names = tools?.body.result.tools.map(({ name }) => name);
                expect(names.includes('conversations_list')).toBe(i % 2 === 1);
                expect(hello?.body.result.protocolVersion).toBe('2025-11-25');
                expect(nothing?.body.error.code).toBe(-32601);
            }
        }
    });
});
describe('RL-04 the quota and the work', () => {
    it('RL-04 the quota is asked before the work: refused at once while the work would have to wait', async () => {
        const { token: spent } = await gateway.issue({ perMinute: 1, burst: 1 });
        expect((await rpc(gateway.port, spent, 'ping')).status).toBe(200);
        await locked(async (waiting) => {
            for (let i = 0; i < 5; i++) {
                const answer = await within(1_000, rpc(gateway.port, spent, 'tools/call', list(3)));
                expect(answer.body.result.structuredContent.error.code).toBe('quota_exceeded');
            }
            expect(await waiting()).toBe(0);
        });
    });
});
describe('RL-05 the store has gone', () => {
    it('RL-05 calls fail with isError 503, everything else with HTTP 503; at once, and not for long', async () => {
        const stranger = await gateway.issue();
        expect((await rpc(gateway.port, token, 'tools/call', list(1))).body.result.isError).toBe(false);
        await wire.cut();
        const began = performance.now();
        const calls = [list(1), { name: 'gateway_context' }, { name: 'websites_list' }];
        const failing = [token, stranger.token].flatMap((bearer) => [
            ...calls.map(async (params) => {
                const answer = await rpc(gateway.port, bearer, 'tools/call', params);
                expect(answer.status).toBe(200);
                expect(answer.body.result).toMatchObject({ isError: true, structuredContent: { error: { status: 503 } } });
                expect(answer.body.result.structuredContent.error.retry_after).toBeGreaterThanOrEqual(1);
            }),
            ...PAYING.map(async ([what, , body, options]) => {
                const answer = await post(gateway.port, bearer, body, options);
                expect(answer.status, what).toBe(503);
                expect(answer.headers['content-type'], what).toBe('application/problem+json');
                expect(answer.headers['retry-after'], what).toMatch(/^[1-9][0-9]*$/);
            }),
            post(gateway.port, undefined, message('ping')).then(({ status }) => expect(status).toBe(401)),
            post(gateway.port, 'igw_test_x', message('tools/call', list(1))).then(({ status }) => expect(status).toBe(401)),
            post(gateway.port, bearer, message('ping'), { verb: 'GET' }).then(({ status }) => expect(status).toBe(405)),
        ]);
        const outcomes = await within(6_000, Promise.allSettled(failing)).finally(() => wire.open());
        expect(outcomes.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))).toEqual([]);
        expect(performance.now() - began).toBeLessThan(6_000);
        await until(async () => (await rpc(gateway.port, token, 'ping')).status === 200);
        expect((await rpc(gateway.port, token, 'tools/call', list(1))).body.result.isError).toBe(false);
    });
    it('RL-05 a hundred requests at once are refused as soon as one is: no call waits in a fair queue for a 503', async () => {
        expect((await rpc(gateway.port, token, 'ping')).status).toBe(200);
        await wire.cut();
        const asked = Array.from({ length: 100 }, () => rpc(gateway.port, token, 'ping'));
        const answers = await within(4_000, Promise.all(asked)).finally(() => wire.open());
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
        await until(async () => (await rpc(gateway.port, token, 'ping')).status === 200);
    });
    it('RL-05 cut in the middle of calls: every one is answered', async () => {
        const asked = [];
        await locked(async (waiting) => {
            for (let i = 0; i < 12; i++)
                asked.push(rpc(gateway.port, token, 'tools/call', list(1)));
            // The pool has four connections, and one app gets at most half of these connections. The other calls of the app
            // wait.
            await until(async () => (await waiting()) === 2);
            await wire.cut();
        });
        const answers = await within(5_000, Promise.all(asked)).finally(() => wire.open());
        for (const { status, body } of answers) {
            expect(status).toBe(200);
            expect(body.result).toMatchObject({ isError: true, structuredContent: { error: { status: 503 } } });
        }
        await until(async () => (await rpc(gateway.port, token, 'ping')).status === 200);
    });
});
describe('LG-01 calls that failed', () => {
    it('LG-01 the log has their code under their request id, and the cause of what was our fault', async () => {
        const entryOf = async (answer) => {
            const mine = () => gateway.log.filter((line) => line.includes(String(answer.headers['x-request-id'])));
            await until(async () => mine().length > 0);
            return JSON.parse(mine()[0] ?? '{}');
        };
        const absent = { name: 'conversation', arguments: { conversation_id: 'cnv_1_1_9223372036854775807' } };
        const missed = await rpc(gateway.port, token, 'tools/call', absent);
        expect(missed.body.result.structuredContent.error.code).toBe('not_found');
        expect(await entryOf(missed)).toMatchObject({ operation: 'conversation', code: 'not_found' });
        fault = new Error('a defect of ours');
        const failed = await rpc(gateway.port, token, 'tools/call', list(1)).finally(() => {
            fault = undefined;
        });
        expect(failed.body.result.structuredContent.error).toMatchObject({ code: 'internal', status: 500 });
        expect(failed.text).not.toContain('a defect of ours');
        // The text of the error says that the failure is recorded under the request id.
        const entry = await entryOf(failed);
        expect(entry).toMatchObject({ operation: 'conversations_list', code: 'internal', level: 50 });
        expect(entry['err']).toBeDefined();
    });
});
//# sourceMappingURL=load.test.js.map