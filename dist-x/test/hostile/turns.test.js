import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { compile, runFor, sql } from '../../src/core/sql.js';
import { BatchQueues } from '../../src/flow/batch-queues.js';
import { FairLimit } from '../../src/flow/fair-limit.js';
import { FairQueue } from '../../src/flow/fair-queue.js';
import { openGateway } from '../../src/gateway/open.js';
import { changesOf } from '../../src/store/driver/connections.js';
import { StoreUnreachable, sqlState } from '../../src/store/driver/errors.js';
import { openDatabase } from '../../src/store/driver/postgres.js';
import { RUNNING_HERE, roomFor, slotsFor } from '../../src/tasks/capacity.js';
import { OPERATIONS, pathOf } from '../support/authority/operations.js';
import { World, webId } from '../support/authority/world.js';
import { freshDatabase } from '../support/database.js';
import { openTestGateway } from '../support/gateway.js';
import { KEYS } from '../support/keys.js';
import { argumentsOf } from '../support/surfaces/mcp.js';
let database;
const opened = [];
beforeAll(async () => {
    database = await freshDatabase();
});
afterEach(async () => {
    await Promise.all(opened.splice(0).map((db) => db.close()));
});
afterAll(() => database.close());
function pool(connections, statementTimeout = 5_000) {
    const { host, port, name } = database;
    const db = openDatabase({
        target: { host, port, database: name, username: 'postgres' },
        connections,
        statementTimeout,
        name: 'turns',
    });
    opened.push(db);
    return db;
}
const asleep = (app, seconds) => runFor(app, sql `SELECT pg_sleep(${seconds})`);
it.each([
    [2, 1],
    [3, 2],
    [4, 2],
    [8, 4],
])('of %i connections an app has at most %i, and another has the rest at once', async (size, most) => {
    const db = pool(size);
    await Promise.all(Array.from({ length: size }, (_, n) => db.query(asleep(`app ${n}`, 0.05))));
    const greedy = Array.from({ length: size * 2 }, () => db.query(asleep('greedy', 0.7)));
    await pause(100);
    const [held] = await database.sql `SELECT count(*)::integer AS n FROM pg_stat_activity
    WHERE application_name = 'turns' AND datname = ${database.name} AND state = 'active'`;
    expect(held?.n).toBe(most);
    const began = performance.now();
    await Promise.all(Array.from({ length: size - most }, (_, n) => db.query(asleep(`other ${n}`, 0))));
    expect(performance.now() - began).toBeLessThan(500);
    await Promise.all(greedy);
});
it('a change of an app does not wait for its slow reads, and an app has one connection for its changes', async () => {
    const db = pool(4);
    await Promise.all(Array.from({ length: 4 }, (_, n) => db.query(asleep(`app ${n}`, 0.05))));
    const reads = Array.from({ length: 4 }, () => db.query(asleep('greedy', 1)));
    const began = performance.now();
    await db.query(asleep(changesOf('greedy'), 0));
    expect(performance.now() - began).toBeLessThan(500);
    const changes = Array.from({ length: 2 }, () => db.query(asleep(changesOf('greedy'), 0.7)));
    await db.query(asleep('other', 0));
    expect(performance.now() - began).toBeLessThan(500);
    await Promise.all([...reads, ...changes]);
});
it('a connection that is free goes to the apps in turn, and within an app to the first', async () => {
    const db = pool(1);
    const order = [];
    const ask = (app, n) => db.query(asleep(app, 0.01)).then(() => order.push(`${app}${n}`));
    const all = Array.from({ length: 20 }, (_, n) => ask('a', n));
    all.push(ask('b', 0), ask('c', 0), ask('b', 1));
    await Promise.all(all);
    // Request a0 found a free connection. From then on, the apps take turns: a1, b0, c0.
    expect(order.slice(0, 7)).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3']);
    expect(order.filter((one) => one.startsWith('a'))).toEqual(Array.from({ length: 20 }, (_, n) => `a${n}`));
});
it('the line of an app is bounded, and a full one turns away its own statements alone', async () => {
    const db = pool(1, 20_000);
    const held = db.query(asleep('greedy', 0.5));
    const results = await Promise.all([
        held.then(() => 'held'),
        ...Array.from({ length: 140 }, () => db.query(runFor('greedy', sql `SELECT 1`)).then(() => 'done', (error) => (error instanceof StoreUnreachable ? sqlState(error.cause) : 'other'))),
        db.query(runFor('victim', sql `SELECT 1`)).then(() => 'victim'),
    ]);
    const count = (of) => results.filter((one) => one === of).length;
    expect([count('held'), count('done'), count('EBUSY'), count('victim')]).toEqual([1, 128, 12, 1]);
});
it('every statement of a call is run for the app of its caller', async () => {
    const gateway = await openTestGateway('empty');
    await new World(gateway.database.sql).whole();
    const own = gateway.database.db;
    const nobodys = new Set();
    const apps = new Set();
    const spied = (statement) => {
        apps.add(statement.app);
        if (statement.app === undefined)
            nobodys.add(compile(statement).text.replace(/\s+/g, ' ').slice(0, 60));
        return statement;
    };
    const db = {
        ...own,
        query: (statement) => own.query(spied(statement)),
        read: (statement) => own.read(spied(statement)),
    };
    const corridor = await openGateway({
        store: { db, slow: db },
        keys: KEYS,
        checkEvery: 1,
        onDefect: (tool) => expect.fail(tool.name),
    });
    const { token, app } = await gateway.issue({ authors: ['opr_1_1_1'] });
    const authority = await corridor.prove(token, 'rest', undefined);
    nobodys.clear();
    apps.clear();
    let calls = 0;
    for (const operation of OPERATIONS) {
        const tool = corridor.registry.get(operation.tool) ?? expect.fail(operation.tool);
        if (tool.effect === 'write' && tool.idempotency === 'required')
            continue;
        const input = argumentsOf(tool, pathOf(operation, webId(1, 1)));
        await corridor.call({ tool, resource: 'rest', bearer: token, input, origin: 'https://nowhere.example' });
        calls++;
    }
    await corridor.payFor(authority, 1_000_000_000 * 131_072);
    expect(calls).toBeGreaterThan(40);
    expect([...nobodys]).toEqual([]);
    expect([...apps].sort()).toEqual([app, changesOf(app)]);
    await gateway.close();
});
it('one app with many websites leaves a slot of the writers, and its turn, to others', async () => {
    const SLOTS = 4;
    let [now, most] = [0, 0];
    const order = [];
    const queues = new BatchQueues({
        slots: SLOTS,
        patience: 5_000,
        run: async (items) => {
            const greedy = items[0]?.startsWith('greedy') === true;
            if (greedy)
                most = Math.max(most, ++now);
            await pause(20);
            if (greedy)
                now--;
            order.push(items[0] ?? '');
            return items;
        },
    });
    const add = (app, site) => queues.add({ queue: `${app} ${site}`, group: `${app} ${site}`, app }, `${app} ${site}`);
    const all = Array.from({ length: 40 }, (_, site) => add('greedy', site));
    await pause(50);
    const before = order.length;
    await add('victim', 1);
    // If apps took no turns, about thirty items of the greedy app would run first. The limit is two rounds of items,
    // because a second round can start on a busy machine.
    expect(order.length - before).toBeLessThanOrEqual(2 * SLOTS);
    await Promise.all(all);
    expect(most).toBe(SLOTS - 1);
});
it('a batch takes the apps in turn, and an app’s place in the queue is its own', async () => {
    const runs = [];
    const queues = new BatchQueues({
        slots: 1,
        batch: 4,
        length: 10,
        patience: 5_000,
        run: async (items) => {
            runs.push([...items]);
            await pause(10);
            return items;
        },
    });
    const add = (app, item) => queues.add({ queue: '', group: '', app }, item);
    const greedy = Array.from({ length: 12 }, (_, n) => add('greedy', `g${n}`).catch(() => 'full'));
    const [first, second] = await Promise.all([add('one', 'one'), add('two', 'two'), ...greedy]);
    expect([first, second]).toEqual(['one', 'two']);
    // The first item runs alone, because nothing else waits yet. At most ten more items of this app may wait, and the
    // next item is refused.
    expect(runs.slice(0, 2)).toEqual([['g0'], ['g1', 'one', 'two', 'g2']]);
    expect((await Promise.all(greedy)).filter((answer) => answer === 'full')).toHaveLength(1);
});
it('realtime reads take the apps in turn, then their credentials, and one app leaves a place free', async () => {
    const reads = new FairLimit({ atOnce: 4, each: 3 });
    const done = [];
    let [now, most] = [0, 0];
    const take = (appId, credentialId, ms) => reads.run(appId, async () => {
        if (appId === 'greedy')
            most = Math.max(most, ++now);
        await pause(ms);
        if (appId === 'greedy')
            now--;
        done.push(`${appId} ${credentialId}`);
    }, { member: credentialId });
    const all = Array.from({ length: 60 }, (_, n) => take('greedy', `c${n % 30}`, 10));
    all.push(take('greedy', 'late', 10));
    await pause(25);
    const before = done.length;
    await take('victim', 'c', 0);
    expect(done.length - before).toBeLessThanOrEqual(4);
    await Promise.all(all);
    expect(most).toBe(3);
    expect(done.indexOf('greedy late')).toBeLessThan(36);
});
it('an app has half of the places for tasks, whatever was dropped of what runs, and half of what is kept', () => {
    const held = (appId, state, starts = false) => ({
        authority: { appId }, // the turns use only the app id
        state,
        starts,
    });
    const many = (n, one) => Array.from({ length: n }, () => one);
    const half = RUNNING_HERE / 2;
    expect(slotsFor('a', [], [])).toBe(half);
    // The app has sixteen slots, and all slots are in use. Some slots hold canceled tasks that still run, and some slots
    // hold tasks that are being accepted.
    expect(slotsFor('a', many(half, held('a', 'running')), [])).toBe(0);
    expect(slotsFor('a', [], many(half, held('a', 'accepting', true)))).toBe(0);
    expect(slotsFor('a', [], many(half, held('a', 'accepting')))).toBe(half);
    expect(slotsFor('b', many(half, held('a', 'running')), [])).toBe(half);
    expect(slotsFor('c', many(RUNNING_HERE, held('a', 'running')), [])).toBe(0);
    const kept = new Map(many(500, held('a', 'waiting')).map((one, n) => [`${n}`, one]));
    expect([roomFor('a', kept, 1_000), roomFor('b', kept, 1_000), roomFor('b', kept, 500)]).toEqual([false, true, false]);
});
it('a fair queue forgets what was taken out of it', () => {
    const queue = new FairQueue();
    for (const n of [1, 2, 3])
        queue.add('a', n);
    queue.add('b', 4);
    expect([queue.remove('a', 2), queue.remove('a', 2), queue.remove('c', 1)]).toEqual([true, false, false]);
    expect([queue.of('a'), queue.of('b'), queue.empty]).toEqual([2, 1, false]);
    expect(queue.next((group) => group === 'b')).toBe(4);
    expect([queue.take(9), queue.empty, queue.next()]).toEqual([[1, 3], true, undefined]);
});
//# sourceMappingURL=turns.test.js.map