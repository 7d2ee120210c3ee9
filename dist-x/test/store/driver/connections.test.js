import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { sql } from '../../../src/core/sql.js';
import { StoreUnreachable, sqlState } from '../../../src/store/driver/errors.js';
import { openDatabase } from '../../../src/store/driver/postgres.js';
import { isAlive } from '../../support/alive.js';
import { freshDatabase } from '../../support/database.js';
import { times } from '../../support/form.js';
import { openProxy } from '../../support/pgwire.js';
let database;
const opened = [];
beforeAll(async () => {
    database = await freshDatabase();
    await database.sql `CREATE TABLE done (n int)`;
    await database.sql.unsafe(`CREATE ROLE ${LIMITED} LOGIN`);
});
afterEach(async () => {
    await Promise.all(opened.splice(0).map((db) => db.close()));
    await database.sql `TRUNCATE done`;
});
afterAll(async () => {
    await database.sql.unsafe(`DROP OWNED BY ${LIMITED}; DROP ROLE ${LIMITED}`);
    await database.close();
});
const NAME = 'pool-under-test';
const STATEMENT_TIMEOUT = 500;
function open(connections, username = 'postgres', statementTimeout = STATEMENT_TIMEOUT) {
    const { host, port, name } = database;
    const target = { host, port, database: name, username };
    const db = openDatabase({ target, connections, statementTimeout, name: NAME });
    opened.push(db);
    return db;
}
const LIMITED = `limited_${process.pid}`;
async function limited(connections) {
    await database.sql.unsafe(`DROP OWNED BY ${LIMITED}; ALTER ROLE ${LIMITED} CONNECTION LIMIT ${connections}`);
    await database.sql.unsafe(`GRANT ALL ON done TO ${LIMITED}`);
}
const sleep = (seconds) => sql `SELECT pg_sleep(${seconds})`;
const note = (n) => sql `INSERT INTO done VALUES (${n})`;
const backends = async () => (await database.sql `SELECT pid FROM pg_stat_activity WHERE application_name = ${NAME}`).map(({ pid }) => pid);
const noted = async () => (await database.sql `SELECT n FROM done ORDER BY n`).map(({ n }) => n);
const causeOf = (result) => result.status === 'rejected' && result.reason instanceof StoreUnreachable ? sqlState(result.reason.cause) : '';
it('no statement stands behind another one while a connection is free', async () => {
    const db = open(2);
    await Promise.all([db.read(sleep(0)), db.read(sleep(0))]);
    let slow = false;
    const long = db.read(sleep(0.4)).then(() => {
        slow = true;
    });
    await Promise.all(Array.from({ length: 60 }, (_, n) => db.query(note(n))));
    expect(slow).toBe(false);
    await long;
    expect(await noted()).toHaveLength(60);
});
it('makes no more connections than it may, and no more than it needs; those who wait are served in order', async () => {
    const db = open(3);
    for (let n = 0; n < 20; n++)
        await db.query(note(n));
    expect(await backends()).toHaveLength(1);
    await Promise.all([0.02, 0.02, 0.02].map((seconds) => db.read(sleep(seconds))));
    const order = [];
    await Promise.all(Array.from({ length: 40 }, (_, n) => db.read(sleep(0.01)).then(() => order.push(n))));
    expect(await backends()).toHaveLength(3);
    expect(order.filter((n, at) => Math.abs(n - at) > 2).length).toBeLessThanOrEqual(4);
});
it('who had no turn in time is told so, and was never begun', async () => {
    const db = open(1);
    const blocked = database.sql.begin(async (other) => {
        await other `LOCK TABLE done`;
        await pause(STATEMENT_TIMEOUT * 5);
    });
    await pause(100);
    const results = await Promise.allSettled([0, 1, 2, 3].map((n) => db.query(note(n))));
    // PostgreSQL ends the first statement at its timeout. The second statement then gets the connection but has too
    // little time left. The last two statements never get the connection.
    expect(results.map(({ status }) => status)).toEqual(Array(4).fill('rejected'));
    expect(results.map(causeOf)).toEqual(['', expect.stringMatching(/^(EBUSY)?$/), 'EBUSY', 'EBUSY']);
    await blocked;
    await pause(50);
    expect(await noted()).toEqual([]);
    await db.query(note(9));
    expect(await backends()).toHaveLength(1);
});
it('of three seconds two may pass in line: who waits longer than half of his time is served still', async () => {
    const db = open(1, 'postgres', 2_500);
    const first = db.read(sleep(1.75));
    await db.query(note(1));
    await first;
    expect(await noted()).toEqual([1]);
});
it('connections that the server has ended meanwhile are not met by the next write', async () => {
    const db = open(3);
    for (let round = 0; round < 10; round++) {
        await Promise.all([0.01, 0.01, 0.01].map((seconds) => db.read(sleep(seconds))));
        const pids = await backends();
        for (const pid of pids)
            await database.sql `SELECT pg_terminate_backend(${pid})`;
        // A backend leaves pg_stat_activity before its process ends and closes the socket.
        await expect.poll(() => pids.some(isAlive)).toBe(false);
        await pause(20);
        await Promise.all([1, 2, 3].map((n) => db.query(note(n))));
    }
    expect(await noted()).toHaveLength(30);
});
it('a server without a connection to spare is asked seldom, and those that are there go on', async () => {
    await limited(2);
    const db = open(6, LIMITED);
    const log = [];
    const failed = (error) => void log.push(sqlState(error instanceof Error ? error.cause : error));
    for (let round = 0; round < 5; round++)
        await Promise.all(Array.from({ length: 12 }, () => db.read(sleep(0.02)).catch(failed)));
    // The pool cannot open a second connection, because the server refuses new connections. The pool then sends the read
    // again on its existing connection.
    expect(log).toEqual([]);
    expect(await backends()).toHaveLength(2);
});
it('who waits while the server has no connection to spare has one when it has, though nobody else comes', async () => {
    await limited(3);
    const held = open(2, LIMITED);
    const db = open(3, LIMITED);
    await Promise.all([db.read(sleep(0.05)), held.read(sleep(0.05)), held.read(sleep(0.05))]);
    const long = db.read(sleep(0.45));
    const waiting = [1, 2].map((n) => db.read(sql `SELECT ${n}::int AS n`));
    await pause(100);
    await held.close();
    const began = performance.now();
    expect(await Promise.all(waiting)).toEqual([[{ n: 1 }], [{ n: 2 }]]);
    expect(performance.now() - began).toBeLessThan(330);
    await long;
});
it('twice as many callers as a cold pool has connections are all served, without a wait for the bound of attempts', async () => {
    const db = open(24, 'postgres', 5_000);
    const began = performance.now();
    const all = await Promise.allSettled(Array.from({ length: 48 }, (_, n) => db.query(note(n))));
    const took = performance.now() - began;
    console.info(`48 callers of a cold pool of 24: ${took.toFixed(0)} ms`);
    expect(all.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(took).toBeLessThan(1_000);
    expect(await noted()).toHaveLength(48);
});
it('a pool and a listener wait for the attempts of another pool, until the server has answered these', async () => {
    const { host, port, name } = database;
    const target = { host, port, database: name, username: 'postgres' };
    const [busy, other] = [40, 1].map((connections) => {
        const db = openDatabase({ target, connections, statementTimeout: 5_000, name: NAME, primary: true });
        opened.push(db);
        return db;
    });
    if (!busy || !other)
        throw new Error('two pools were opened');
    const attempts = Promise.all(Array.from({ length: 20 }, () => busy.read(sleep(0.3))));
    const began = performance.now();
    const took = async (what) => {
        await what;
        return performance.now() - began;
    };
    const heard = new Promise((resolve) => {
        other.listen('told', () => resolve());
    });
    const waits = await Promise.all([took(other.read(sleep(0))), took(heard)]);
    console.info(`the other pool and its listener were served after ${waits.map(Math.round).join(' and ')} ms`);
    for (const wait of waits) {
        expect(wait).toBeGreaterThan(250);
        expect(wait).toBeLessThan(1_000);
    }
    await attempts;
});
it('a server that was silent is used again, also by who stood in line meanwhile', async () => {
    const proxy = await openProxy(database);
    const target = proxy.url(database.name);
    const db = openDatabase({ target, connections: 1, statementTimeout: STATEMENT_TIMEOUT, name: NAME });
    opened.push(db);
    await db.read(sleep(0));
    proxy.arm({ match: /AS silent/, at: { side: 'backend', at: 1, when: 'before' }, action: 'blackhole' });
    const asked = [sleep(0.3), sql `SELECT 1 AS silent`, note(2)].map((statement) => db.query(statement));
    expect((await Promise.allSettled(asked)).map(causeOf)).toEqual(['', 'EBUSY', 'EBUSY']);
    await expect.poll(async () => (await Promise.allSettled([db.query(note(3))]))[0]?.status).toBe('fulfilled');
    expect(await noted()).toEqual([3]);
    await proxy.close();
});
it('closing waits for what runs, and turns away who waits and who comes', async () => {
    const db = open(1);
    const running = db.query(sql `INSERT INTO done SELECT 1 FROM pg_sleep(0.2)`);
    const waiting = Promise.allSettled([db.query(note(2)), db.script('INSERT INTO done VALUES (3)')]);
    await pause(50);
    const closing = db.close();
    expect((await waiting).map(causeOf)).toEqual(['CONNECTION_ENDED', 'CONNECTION_ENDED']);
    expect(causeOf((await Promise.allSettled([db.query(note(4))]))[0] ?? expect.fail())).toBe('CONNECTION_ENDED');
    await Promise.all([running, closing]);
    await expect.poll(backends).toEqual([]);
    expect(await noted()).toEqual([1]);
});
it('whatever becomes of statements and connections, each statement has its own answer and the pool its size', async () => {
    const SIZE = 3;
    const db = open(SIZE);
    const kinds = {
        answer: (n) => db.query(sql `SELECT ${n}::int AS n FROM pg_sleep(0.002)`),
        refuse: (n) => db.query(sql `SELECT ${n}::int / 0 AS n`),
        long: (n) => db.query(sql `SELECT ${n}::int AS n FROM pg_sleep(2)`),
        lose: (n) => db.query(sql `SELECT ${n}::int AS n FROM pg_terminate_backend(pg_backend_pid())`),
        many: (n) => db.query(sql `SELECT ${n}::int AS n FROM generate_series(1, 200)`),
    };
    const some = fc.constantFrom('answer', 'answer', 'answer', 'many', 'many', 'refuse', 'lose', 'long');
    await fc.assert(fc.asyncProperty(fc.array(some, { maxLength: 40 }), async (mix) => {
        const results = await Promise.allSettled(mix.map((kind, n) => kinds[kind](n)));
        for (const [n, kind] of mix.entries()) {
            const result = results[n];
            // When one connection is lost, statements on other connections must still get their answers. Such a statement
            // may fail only with EBUSY, after a long wait behind slow statements.
            const answered = [...Array(kind === 'many' ? 200 : 1)].map(() => ({ n }));
            if (result?.status === 'fulfilled')
                expect([kind, result.value]).toEqual([kind, answered]);
            else if (kind === 'answer' || kind === 'many')
                expect([mix.join(), causeOf(result ?? expect.fail())]).toEqual([mix.join(), 'EBUSY']);
            else if (kind === 'refuse')
                expect(['22012', '']).toContain(sqlState(result?.reason));
        }
        await expect.poll(async () => (await backends()).length).toBeLessThanOrEqual(SIZE);
        expect(await db.query(sql `SELECT 1 AS n`)).toEqual([{ n: 1 }]);
    }), { numRuns: times(12, 100) });
}, times(60_000, 600_000));
//# sourceMappingURL=connections.test.js.map