import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { sql } from '../../src/core/sql.js';
import { StoreUnreachable } from '../../src/store/driver/errors.js';
import { openDatabase } from '../../src/store/driver/postgres.js';
import { issue } from '../support/credentials.js';
import { freshDatabase } from '../support/database.js';
import { doctor } from '../support/doctor.js';
import { itOnce as it, itInFull } from '../support/form.js';
import { everyPoint, openProxy, } from '../support/pgwire.js';
import { pool, startReplica } from '../support/replica.js';
/**
 * Tests the proxy that the fault tests use. Each run injects a fault at one message of an ordinary INSERT. Afterwards
 * the table must have the number of rows that the protocol implies. The client must learn the true result. The client's
 * database object must work again at once.
 */
let database;
let proxy;
let db;
let key = 0;
/**
 * A pool cannot close while its connection does not answer. Therefore the test closes the proxy first, and then these
 * pools.
 */
const closing = [];
const INSERT = /INSERT INTO public\.scratch/;
const LONG = `SELECT repeat('é', 100000)`;
const STATEMENT_TIMEOUT = 2_000;
// The messages that `postgres` 3.4.9 and PostgreSQL exchange. The driver describes a statement with parameters before
// it binds them.
const FIRST = { frontend: 'PDHBES', backend: '1tT2DCZ' };
const PREPARED = { frontend: 'BES', backend: '2DCZ' };
beforeAll(async () => {
    database = await freshDatabase();
    await database.sql `CREATE TABLE public.scratch (key integer)`;
    proxy = await openProxy(database);
    db = through('pgwire');
});
afterEach(() => proxy.disarm());
afterAll(async () => {
    await proxy.close();
    await Promise.all([db.close(), ...closing]);
    await database.close();
});
const through = (name) => openDatabase({ target: proxy.url(database.name), connections: 1, statementTimeout: STATEMENT_TIMEOUT, name });
const insert = (on = db) => on.query(sql `INSERT INTO public.scratch (key) VALUES (${++key}) RETURNING key`);
const outcome = (inserting) => inserting.then(([row]) => (row?.key === key ? 'inserted' : `answered ${JSON.stringify(row)}`), (error) => (error instanceof StoreUnreachable ? 'unreachable' : `failed: ${String(error)}`));
async function present() {
    const [row] = await database.sql `SELECT count(*) AS n FROM public.scratch WHERE key = ${key}`;
    return Number(row?.n);
}
async function rows() {
    for (const until = Date.now() + 5_000;; await pause(2)) {
        const [left] = await database.sql `
      SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'pgwire'`;
        if (left?.n === '0')
            return present();
        if (Date.now() > until)
            throw new Error('a backend has outlived its connection');
    }
}
const silent = (asking, ms) => Promise.race([asking, pause(ms, 'silent')]);
const worksAgain = async () => {
    expect(await db.read(sql `SELECT ${key}::int AS n`)).toEqual([{ n: key }]);
};
it('the wire is read whatever segments it comes in', async () => {
    const client = connect({ host: proxy.host, port: proxy.port, noDelay: true });
    let answer = Buffer.alloc(0);
    client.on('data', (part) => {
        answer = Buffer.concat([answer, part]);
    });
    const framed = (type, body) => {
        const bytes = Buffer.from(`${type}____${body}\0`);
        bytes.writeInt32BE(bytes.length - type.length, type.length);
        return bytes;
    };
    const dribble = async (bytes, end) => {
        answer = Buffer.alloc(0);
        for (const byte of bytes) {
            client.write(Buffer.from([byte]));
            await pause(1);
        }
        while (!answer.toString('latin1').endsWith(end))
            await once(client, 'data');
    };
    const ready = 'Z\0\0\0\x05I';
    await dribble(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]), 'N'); // the bytes of an SSLRequest message
    await dribble(framed('', `\0\x03\0\0user\0postgres\0database\0${database.name}\0`), ready);
    await dribble(framed('Q', LONG), ready);
    expect(answer.length).toBeGreaterThan(200_000);
    answer = Buffer.alloc(0);
    client.end(Buffer.concat([framed('Q', 'SELECT 41'), framed('Q', 'SELECT 42'), Buffer.from('X\0\0\0\x04')]));
    await once(client, 'close');
    expect(answer.toString('latin1').split(ready)).toHaveLength(3);
    const mine = proxy.log().filter(({ connection }) => connection === proxy.log().at(-1)?.connection);
    expect(mine.every(({ forwarded }) => forwarded)).toBe(true);
    const asked = mine.filter(({ direction }) => direction === 'frontend').map(({ type, text }) => text ?? type);
    expect(asked).toEqual(['startup', LONG, 'SELECT 41', 'SELECT 42', 'X']);
    for (const text of [/repeat/, /^SELECT 41$/])
        expect(proxy.messagesOf(text)).toEqual({ frontend: 'Q', backend: 'TDCZ' });
});
/**
 * The expected result of an INSERT after a fault at this point. The row exists when the server has received the Sync
 * message. The server sends BindComplete and all later messages only after it has received the Sync.
 */
const truth = ({ side, at, when }, { frontend, backend }) => {
    const last = when === 'after' && at === (side === 'frontend' ? frontend : backend).length;
    if (side === 'frontend')
        return { told: 'unreachable', rows: last ? 1 : 0 };
    return { told: last ? 'inserted' : 'unreachable', rows: at > backend.indexOf('2') ? 1 : 0 };
};
it.each([
    ['first run', FIRST],
    ['prepared run', PREPARED],
])('a %s cut at every message leaves what the protocol says, and the next statement works', async (name, messages) => {
    const points = everyPoint(messages);
    expect(points).toHaveLength(2 * (messages.frontend.length + messages.backend.length));
    for (const at of points) {
        if (name === 'prepared run')
            expect(await outcome(insert())).toBe('inserted');
        const trap = proxy.arm({ match: INSERT, at, action: 'cut' });
        const told = await outcome(insert());
        await trap.fired;
        expect({ at, told, rows: await rows() }).toEqual({ at, ...truth(at, messages) });
        await worksAgain();
    }
    expect(proxy.messagesOf(INSERT)).toEqual(messages); // the last cut comes after the last message, so the exchange is complete
});
describe('a named point', () => {
    /**
     * The letters of the messages of the latest INSERT on one side. A dash stands for a message that the proxy did not
     * forward.
     */
    const passed = (side) => {
        const last = proxy.log().findLast(({ text }) => text !== undefined && INSERT.test(text))?.exchange;
        const mine = proxy.log().filter(({ exchange, direction }) => exchange === last && direction === side);
        return mine.map(({ type, forwarded }) => (forwarded ? type : '-')).join('');
    };
    const asks = {
        extended: () => insert(),
        simple: () => db.script(`INSERT INTO public.scratch (key) VALUES (${++key})`).then(() => [{ key }]),
    };
    const cases = [
        ['before-execute', 'cut', 'extended', 0, 'PDH---', '1tT'],
        ['before-execute', 'reset', 'extended', 0, 'PDH---', '1tT'],
        ['before-execute', 'cut', 'simple', 0, '-', ''],
        ['after-sync', 'cut', 'extended', 1, 'PDHBES', '1tT----'],
        ['after-sync', 'reset', 'extended', 1, 'PDHBES', '1tT----'],
        ['after-sync', 'cut', 'simple', 1, 'Q', '--'],
        ['sync-then-cut', 'cut', 'extended', 1, 'PDHBES', '1tT'],
        ['sync-then-cut', 'reset', 'extended', 1, 'PDHBES', '1tT'],
        ['sync-then-cut', 'cut', 'simple', 1, 'Q', ''],
    ];
    it.each(cases)('%s, %s, %s protocol: %i row, and an error', async (at, action, protocol, count, sent, answered) => {
        await worksAgain();
        const trap = proxy.arm({ match: INSERT, at, action });
        expect(await outcome(asks[protocol]())).toBe('unreachable');
        await trap.fired;
        const left = { rows: await rows(), sent: passed('frontend'), answered: passed('backend') };
        expect(left).toEqual({ rows: count, sent, answered });
        await worksAgain();
    });
});
describe('a message held', () => {
    it('goes on once the callback has done; nothing executes before', async () => {
        const during = [];
        const run = async ({ type }) => during.push(type, await pause(100).then(present));
        const trap = proxy.arm({ match: INSERT, at: 'before-execute', action: 'forward', run });
        expect(await outcome(insert())).toBe('inserted');
        await trap.fired;
        expect(during).toEqual(['B', 0]);
        expect(await present()).toBe(1);
    });
    it('is cut where the callback fails', async () => {
        const run = () => Promise.reject(new Error('no such replica'));
        const trap = proxy.arm({ match: INSERT, at: 'before-execute', action: 'forward', run });
        expect(await outcome(insert())).toBe('unreachable');
        await expect(trap.fired).rejects.toThrow('no such replica');
        expect(await rows()).toBe(0);
        await worksAgain();
    });
    it('is held once or always, and only in statements that match', async () => {
        const run = () => pause(20);
        const plan = { match: INSERT, at: { side: 'backend', at: 1, when: 'before' }, action: 'forward', run };
        const once = proxy.arm(plan);
        await worksAgain();
        expect(once.hits()).toBe(0);
        for (let i = 0; i < 2; i++)
            await insert();
        const always = proxy.arm({ ...plan, times: Number.POSITIVE_INFINITY });
        for (let i = 0; i < 3; i++)
            await insert();
        proxy.disarm();
        await insert();
        expect([once.hits(), always.hits()]).toEqual([1, 3]);
    });
});
describe('a server gone silent', () => {
    it('keeps connections open, answers nothing, and goes on where it stopped', async () => {
        await worksAgain();
        const open = proxy.connections();
        const heal = proxy.blackhole();
        const told = outcome(insert());
        const newcomer = connect(proxy.port, proxy.host); // the proxy accepts the new connection
        expect(await silent(told, 300)).toBe('silent');
        expect(proxy.connections()).toBe(open + 1);
        heal();
        expect(await told).toBe('inserted');
        newcomer.destroy();
    });
    it('on one connection leaves the others alone', async () => {
        const [other, lonely] = [through('other'), through('lonely')];
        const trap = proxy.arm({ match: INSERT, at: 'after-sync', action: 'blackhole' });
        const told = outcome(insert(lonely));
        await trap.fired;
        expect(await silent(told, 300)).toBe('silent');
        expect(await present()).toBe(1);
        expect(await other.read(sql `SELECT 1 AS one`)).toEqual([{ one: 1 }]);
        closing.push(other.close(), lonely.close());
    });
    it('is an error for a new connection and for one in use, within the time-outs', async () => {
        const cold = through('cold');
        await worksAgain();
        const heal = proxy.blackhole();
        const began = performance.now();
        const both = await Promise.all([silent(outcome(insert(cold)), 10_000), silent(outcome(insert()), 10_000)]);
        heal();
        expect(both).toEqual(['unreachable', 'unreachable']);
        expect(performance.now() - began).toBeLessThan(STATEMENT_TIMEOUT + 5_000);
        await worksAgain();
        closing.push(cold.close());
    });
});
describe('replicas', () => {
    let world;
    let wire;
    let replicas;
    let token;
    const ask = async ({ url }) => {
        const answer = await fetch(`${url}/api/v1/websites`, { headers: { authorization: `Bearer ${token}` } });
        await answer.text();
        return answer.status;
    };
    beforeAll(async () => {
        world = await freshDatabase('demo');
        wire = await openProxy(world);
        const options = { databaseUrl: wire.url(world.name) };
        [replicas, { token }] = await Promise.all([pool(2, options, 4), issue(world.sql, 1)]);
    });
    afterAll(async () => {
        await replicas.close();
        await wire.close();
        expect(await doctor(world)).toEqual([]);
        await world.close();
    });
    itInFull('one is stopped at a message while another serves, and goes on where it was', async () => {
        const [stopped, other] = [await replicas.take(), await replicas.take()];
        const trap = wire.arm({
            match: /gateway\.take_quota/,
            at: 'after-sync',
            action: 'forward',
            run: () => stopped.stop(),
        });
        const asked = ask(stopped);
        await trap.fired;
        expect(await silent(asked, 300)).toBe('silent');
        expect(await ask(other)).toBe(200);
        stopped.cont();
        expect(await asked).toBe(200);
        await stopped.stop();
        expect([await stopped.end(), await other.end()]).toEqual(Array(2).fill({ code: 0, signal: null }));
    });
    itInFull('one is killed at a message, and its spare serves on at once', async () => {
        await replicas.warm();
        const victim = await replicas.take();
        expect(await ask(victim)).toBe(200);
        const trap = wire.arm({
            match: /platform\.website/,
            at: 'before-execute',
            action: 'cut',
            run: () => victim.kill9(),
        });
        await expect(ask(victim)).rejects.toThrow('fetch failed');
        await trap.fired;
        expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' });
        const began = performance.now();
        const spare = await replicas.take();
        expect(performance.now() - began).toBeLessThan(100);
        expect(await ask(spare)).toBe(200);
    });
    itInFull('one that cannot start says why', async () => {
        const nowhere = 'postgres://postgres@127.0.0.1:1/nowhere';
        await expect(startReplica({ databaseUrl: nowhere })).rejects.toThrow('DATABASE_URL cannot be reached');
    });
});
//# sourceMappingURL=pgwire.test.js.map