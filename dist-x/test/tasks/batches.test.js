import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from '../../src/auth/tokens.js';
import { Failure } from '../../src/core/failures.js';
import { compile } from '../../src/core/sql.js';
import { StoreUnreachable } from '../../src/store/driver/errors.js';
import { renewTasks } from '../../src/store/tasks/upkeep.js';
import { newMessage, openWorld, probe, until } from '../support/tasks.js';
let world;
let replica;
/** The statement under test. `carried` lists the number of tasks in each batch. */
let watched;
let carried;
let gate;
let fault;
let lost;
beforeAll(async () => {
    world = await openWorld();
    await world.database.sql.unsafe(`
    CREATE TABLE public.flush (n bigserial, id text, state text, flushed text);
    CREATE FUNCTION public.flush() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO public.flush (id, state, flushed) VALUES (NEW.id, NEW.state, current_setting('synchronous_commit'));
        RETURN NULL;
      END $$;
    CREATE TRIGGER flush AFTER INSERT OR UPDATE ON gateway.task FOR EACH ROW EXECUTE FUNCTION public.flush();`);
    const query = (db) => async (statement) => {
        const { text, values } = compile(statement);
        if (!text.includes(`gateway.${watched}(`))
            return db.query(statement);
        const nth = carried.push(values.find(Array.isArray)?.length ?? 0);
        await gate;
        // The test does not touch the first batch. The first batch only makes the other tasks wait.
        if (nth === 1)
            return db.query(statement);
        if (fault)
            throw fault;
        const rows = await db.query(statement);
        if (lost)
            throw new StoreUnreachable('planted', { cause: Object.assign(new Error('planted'), { code: 'ECONNRESET' }) });
        return rows;
    };
    replica = await world.open(undefined, { db: (db) => ({ ...db, query: query(db) }) });
});
beforeEach(() => {
    watched = 'accept_tasks';
    carried = [];
    gate = Promise.resolve();
    fault = undefined;
    lost = false;
});
afterEach(() => expect(world.errors.splice(0)).toEqual([]));
afterAll(async () => {
    await replica.close();
    await world.close();
});
/** Holds the first batch of this kind until all calls of `begin` wait behind it. */
async function together(step, begin, then = () => undefined) {
    const sender = await world.issue();
    await world.send(replica, sender.token);
    let open = () => undefined;
    watched = step;
    carried = [];
    gate = new Promise((resolve) => {
        open = resolve;
    });
    const first = world.send(replica, sender.token);
    await until(() => carried.length === 1);
    const all = begin();
    for (const one of all)
        one.catch(() => undefined); // the test awaits these promises below
    await pause(300);
    await then();
    open();
    await first;
    return [...all];
}
const told = async (one) => one.then(({ state, failure }) => (failure === null ? state : `${state} ${failure}`), (error) => error.code ?? error.name);
async function known(grant = {}) {
    const sender = await world.issue(grant);
    await world.authority(replica, sender.token);
    return sender;
}
it('tasks that are sent in one turn of the event loop share their statements', async () => {
    const sender = await known();
    const slow = probe(async () => ({}));
    carried = [];
    const all = Array.from({ length: 4 }, () => world.send(replica, sender.token, { skill: slow.skill }));
    await until(() => slow.held() === 4);
    expect(carried).toEqual([4]);
    watched = 'end_tasks';
    carried = [];
    slow.release();
    expect(await Promise.all(all.map(told))).toEqual(Array(4).fill('completed'));
    expect(carried).toEqual([4]);
});
/** This error rolls back the transaction that holds a lock while `meanwhile` runs. */
const UNDONE = new Error('undone');
async function holding(text, meanwhile) {
    await world.database.sql
        .begin(async (transaction) => {
        await transaction.unsafe(text);
        await meanwhile();
        throw UNDONE;
    })
        .catch((error) => expect(error).toBe(UNDONE));
}
const flushesOf = async (id) => (await world.database.sql `SELECT state || ' ' || flushed AS line FROM public.flush WHERE id = ${id} ORDER BY n`).map(({ line }) => line);
describe('tasks that are accepted together', () => {
    it('a known message, a conflict, a full installation and one message twice: each its own way, and the rest', async () => {
        const [fine, twice, full, sixth] = await Promise.all([known(), known(), known(), known()]);
        const [before, double] = [newMessage(), newMessage()];
        const { id } = await world.send(replica, fine.token, { messageId: before });
        await world.database.sql `INSERT INTO gateway.task
      SELECT 'task_' || md5(n::text || ${full.installation}), ${full.installation}, ${full.credential},
             sha256((n || ${full.installation})::bytea), fingerprint, grants, context_id, skill, website_id, state, state_at,
             failure, artifact, owner, lost_as, lease_until, created_at, expires_at
        FROM gateway.task, generate_series(1, 100) n WHERE id = ${id}`;
        const slow = probe();
        const send = (by, sending) => world.send(replica, by.token, sending);
        const six = Array.from({ length: 6 }, () => ({ skill: slow.skill }));
        const all = await together('accept_tasks', () => [
            send(fine),
            send(fine, { messageId: before }),
            send(fine, { messageId: before, input: { contact_id: 'ctc_1_1_2' } }),
            send(full),
            send(twice, { messageId: double }),
            send(twice, { messageId: double }),
            ...six.map((sending) => send(sixth, sending)),
        ]);
        expect(carried).toEqual([1, 12]);
        await until(() => slow.held() === 5);
        expect(await world.count('submitted', sixth.installation)).toBe(1);
        slow.release();
        expect(await Promise.all(all.map(told))).toEqual([
            'completed',
            'completed',
            'MessageIdConflict',
            'task_limit',
            ...Array.from({ length: 8 }, () => 'completed'),
        ]);
        expect((await all[1])?.id).toBe(id);
        expect((await all[4])?.id).toBe((await all[5])?.id);
        expect(slow.runs()).toBe(6);
    });
    it('nothing is accepted under an authority that was revoked, has expired or was changed', async () => {
        const { sql } = world.database;
        const [fine, revoked, expired, changed] = await Promise.all([known(), known(), known(), known()]);
        await sql `UPDATE gateway.token SET revoked_at = now() WHERE digest = ${digestOf(revoked.token)}`;
        await sql `UPDATE gateway.token SET expires_at = now() WHERE digest = ${digestOf(expired.token)}`;
        await sql `UPDATE gateway.credential SET data_access = array_remove(data_access, 'pii') WHERE id = ${changed.credential}`;
        const all = await together('accept_tasks', () => [fine, revoked, expired, changed].map(({ token }) => world.send(replica, token)));
        // The gateway accepts the changed sender under its present authority. Otherwise, the gateway would not publish the
        // result.
        expect(await Promise.all(all.map(told))).toEqual(['completed', 'token_revoked', 'token_expired', 'completed']);
        expect(carried[1]).toBe(4);
        const rows = await sql `SELECT FROM gateway.task WHERE credential_id IN (${revoked.credential}, ${expired.credential})`;
        expect(rows).toHaveLength(0);
    });
    it('places of an installation that is nearly full are given to as many as there are', async () => {
        const sender = await known();
        const { id } = await world.send(replica, sender.token);
        await world.database.sql `INSERT INTO gateway.task
      SELECT 'task_' || md5(n::text || ${id}), installation_id, credential_id, sha256((n || ${id})::bytea), fingerprint, grants,
             context_id, skill, website_id, state, state_at, failure, artifact, owner, lost_as, lease_until, created_at, expires_at
        FROM gateway.task, generate_series(1, 96) n WHERE id = ${id}`;
        const all = await together('accept_tasks', () => Array.from({ length: 8 }, () => world.send(replica, sender.token)));
        const ends = await Promise.all(all.map(told));
        expect(ends.sort()).toEqual([...Array(3).fill('completed'), ...Array(5).fill('task_limit')]);
    });
    it('one whose installation somebody holds does not hold up the others', async () => {
        const [held, free] = await Promise.all([known(), known()]);
        let waiting;
        await holding(`SELECT gateway.lock_tasks('${held.installation}')`, async () => {
            const [first, second] = await together('accept_tasks', () => [
                world.send(replica, held.token),
                world.send(replica, free.token),
            ]);
            waiting = first;
            expect((await second)?.state).toBe('completed');
            expect(await world.count('working', held.installation)).toBe(0);
            expect((await world.send(replica, free.token)).state).toBe('completed');
        });
        expect((await waiting)?.state).toBe('completed');
    });
    it('are not flushed where all of them wait; one that is told of at once is', async () => {
        const sender = await known();
        const alone = await world.send(replica, sender.token);
        expect(await flushesOf(alone.id)).toEqual(['working off', 'completed on']);
        const [waits, told] = await together('accept_tasks', () => [
            world.send(replica, sender.token),
            world.send(replica, sender.token, { wait: false }),
        ]);
        expect((await flushesOf((await waits)?.id ?? ''))[0]).toBe('working on');
        expect((await flushesOf((await told)?.id ?? ''))[0]).toBe('submitted on');
    });
});
describe('tasks that end together', () => {
    it('canceled, revoked, narrowed, expired or failed: each ends as it would alone, and the rest is published', async () => {
        const { sql } = world.database;
        const slow = probe();
        const failing = probe(() => Promise.reject(new Failure('not_found')));
        const senders = await Promise.all(Array.from({ length: 6 }, () => known()));
        const [canceled, revoked, narrowed, expired, failed, fine] = senders.map(({ token, installation }) => ({
            token,
            installation,
        }));
        const all = senders.map(({ token }) => world.send(replica, token, { skill: token === failed?.token ? failing.skill : slow.skill }));
        await until(() => slow.held() + failing.held() === 6);
        const idOf = async (sender = fine) => (await sql `SELECT id FROM gateway.task WHERE installation_id = ${sender?.installation ?? ''}`)[0]?.id ?? '';
        const ids = await Promise.all([canceled, revoked, narrowed, expired, failed, fine].map(idOf));
        await together('end_tasks', () => {
            slow.release();
            failing.release();
            return all;
        }, async () => {
            await world.cancel(world.b, canceled?.token ?? '', ids[0] ?? '');
            await sql `UPDATE gateway.token SET revoked_at = now() WHERE digest = ${digestOf(revoked?.token ?? '')}`;
            await sql `UPDATE gateway.credential SET data_access = array_remove(data_access, 'pii')
          WHERE installation_id = ${narrowed?.installation ?? ''}`;
            await sql `UPDATE gateway.token SET expires_at = now() WHERE digest = ${digestOf(expired?.token ?? '')}`;
        });
        expect(await Promise.all(all.map(told))).toEqual([
            'canceled',
            'token_revoked',
            'failed authority_changed',
            'token_expired',
            'failed not_found',
            'completed',
        ]);
        expect(carried).toEqual([1, 6]);
        const rows = await Promise.all(ids.map((id) => world.row(id)));
        expect(rows.map((row) => [row?.state, row?.failure, row?.artifact !== null])).toEqual([
            ['canceled', null, false],
            ['failed', 'token_revoked', false],
            ['failed', 'authority_changed', false],
            ['failed', 'token_expired', false],
            ['failed', 'not_found', false],
            ['completed', null, true],
        ]);
    });
    it.each([
        [
            'a revocation under way',
            (one) => `SELECT FROM gateway.credential WHERE id = '${one.credential}' FOR UPDATE`,
        ],
        ['its token', (one) => `SELECT FROM gateway.token WHERE credential_id = '${one.credential}' FOR UPDATE`],
        ['its row', (one) => `SELECT FROM gateway.task WHERE credential_id = '${one.credential}' FOR UPDATE`],
    ])('one that is held by %s does not hold up the others', async (_, lock) => {
        const [held, free] = await Promise.all([known(), known()]);
        const slow = probe();
        const all = [held, free].map(({ token }) => world.send(replica, token, { skill: slow.skill }));
        await until(() => slow.held() === 2);
        await holding(lock(held), async () => {
            const [, second] = await together('end_tasks', () => {
                slow.release();
                return all;
            });
            expect((await second)?.state).toBe('completed');
            expect(carried).toEqual([1, 2]);
            expect(await world.count('working', held.installation)).toBe(1);
        });
        expect((await all[0])?.state).toBe('completed');
    });
    it('a renewal waits for no row either: the others are renewed, and what is held is not taken for ended', async () => {
        const { sql } = world.database;
        const [held, free] = await Promise.all([known(), known()]);
        const slow = probe();
        const all = [held, free].map(({ token }) => world.send(replica, token, { skill: slow.skill }));
        await until(() => slow.held() === 2);
        const rows = await sql `SELECT id, lease_until AS at FROM gateway.task
      WHERE credential_id IN (${held.credential}, ${free.credential}) ORDER BY credential_id = ${free.credential}`;
        await holding(`SELECT FROM gateway.task WHERE id = '${rows[0]?.id}' FOR UPDATE`, async () => {
            const states = await renewTasks(replica.db, rows.map(({ id }) => id));
            expect([...states.values()]).toEqual(['working', 'working']);
            const renewed = await world.row(rows[1]?.id ?? '');
            expect(renewed?.lease_until?.getTime()).toBeGreaterThan(rows[1]?.at.getTime() ?? 0);
        });
        slow.release();
        expect(await Promise.all(all.map(told))).toEqual(['completed', 'completed']);
    });
    it('are given their own artifacts, whatever is in them', async () => {
        const senders = await Promise.all(Array.from({ length: 5 }, () => known()));
        const bodies = [{ b: 1, a: [2, { '\u2028"\\': '},{' }] }, null, 'null', [], { text: '\ud800 \u0007 ä' }];
        const slow = senders.map((_, i) => probe(async () => bodies[i]));
        const all = senders.map(({ token }, i) => world.send(replica, token, { skill: slow[i]?.skill ?? expect.fail() }));
        await until(() => slow.every((one) => one.held() === 1));
        await together('end_tasks', () => {
            for (const one of slow)
                one.release();
            return all;
        });
        expect(carried).toEqual([1, 5]);
        const stored = await Promise.all(all.map(async (one, i) => (await world.get(world.b, senders[i]?.token ?? '', (await one).id))?.artifact));
        expect(stored.map((one) => JSON.stringify(one))).toEqual(bodies.map((one) => JSON.stringify(one ?? undefined)));
    });
});
describe.each(['accept_tasks', 'end_tasks'])('a batch of %s', (step) => {
    const sentAlone = () => replica.sent(step === 'accept_tasks' ? /accept_task\(/ : /end_task\(/);
    it('that fails is done one by one, and told of', async () => {
        const sender = await known();
        const before = sentAlone();
        const all = await together(step, () => Array.from({ length: 3 }, () => world.send(replica, sender.token)), () => {
            fault = new Error('planted');
        });
        expect(await Promise.all(all.map(told))).toEqual(['completed', 'completed', 'completed']);
        expect(sentAlone() - before).toBeGreaterThanOrEqual(3);
        expect(world.errors.splice(0)).toMatchObject([{ cause: new Error('planted') }]);
    });
    it('F-03 whose reply is lost after its commit: each is found as it is', async () => {
        const sender = await known();
        const { skill, runs, release } = probe();
        release();
        lost = true;
        const all = await together(step, () => Array.from({ length: 3 }, () => world.send(replica, sender.token, { skill })));
        const tasks = await Promise.all(all);
        expect(tasks.map(({ state }) => state)).toEqual(['completed', 'completed', 'completed']);
        expect(runs()).toBe(3);
        for (const { id } of tasks)
            expect(await world.moves(id)).toEqual(['working', 'working>completed']);
    });
    it('F-06 that is not answered in time is not waited for twice', async () => {
        const sender = await known();
        const before = sentAlone();
        const all = await together(step, () => Array.from({ length: 3 }, () => world.send(replica, sender.token)), () => {
            const cause = Object.assign(new Error('planted'), { code: 'ETIMEDOUT' });
            fault = new StoreUnreachable('planted', { cause });
        });
        await pause(100);
        expect(sentAlone() - before).toBe(0);
        fault = undefined;
        const ends = await Promise.all(all.map(told));
        // A finished task keeps its result, and the gateway publishes the result later. A task that was never accepted gets
        // a refusal.
        expect(new Set(ends)).toEqual(new Set([step === 'accept_tasks' ? 'service_unavailable' : 'completed']));
    });
});
//# sourceMappingURL=batches.test.js.map