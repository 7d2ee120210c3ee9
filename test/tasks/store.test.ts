import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compile } from '../../src/core/sql.ts';
import { StoreUnreachable } from '../../src/store/driver/errors.ts';
import type { Database } from '../../src/store/driver/postgres.ts';
import { sweep } from '../../src/tasks/sweeper.ts';
import { openProxy, type WireProxy } from '../support/pgwire.ts';
import { newMessage, openWorld, probe, type Replica, until, type World } from '../support/tasks.ts';

/** Tests which data of a task the store holds and for how long, and what a lost connection does. */
let world: World;
let proxy: WireProxy;
let cut: Replica;
/** A replica whose batch statements do nothing, so that every task uses its own single statement. */
let alone: Replica;

beforeAll(async () => {
  world = await openWorld();
  const { host, port, name } = world.database;
  proxy = await openProxy({ host, port });
  cut = await world.open(proxy.url(name));
  const leaving = (db: Database): Database => ({
    ...db,
    query: async (statement) => (/\.(accept|end)_tasks\(/.test(compile(statement).text) ? [] : db.query(statement)),
  });
  alone = await world.open(proxy.url(name), { db: leaving });
});
afterAll(async () => {
  expect(world.errors).toEqual([]);
  await Promise.all([cut.close(), alone.close()]);
  await proxy.close();
  await world.close();
});

/** Every row of the gateway's own tables as text. Bytes appear both as hexadecimal and as the text that they spell. */
async function dump(): Promise<string> {
  const { sql } = world.database;
  const tables = await sql<{ name: string }[]>`SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = 'gateway' AND table_type = 'BASE TABLE' ORDER BY 1`;
  expect(tables.map(({ name }) => name)).toContain('task');
  const rows: string[] = [];
  for (const { name } of tables) {
    for (const { row } of await sql.unsafe<{ row: string }[]>(`SELECT x::text AS row FROM gateway.${name} x`)) {
      rows.push(row);
      for (const [, hex = ''] of row.matchAll(/\\x([0-9a-f]+)/g)) rows.push(Buffer.from(hex, 'hex').toString('latin1'));
    }
  }
  return rows.join('\n');
}

describe('LG-01 A2-01 no text of a caller', () => {
  it('neither arguments nor messageId are in any row, whatever became of the task', async () => {
    const sender = await world.issue();
    const skill = world.skill('offline_language_detection');
    const text = (state: string): string => `Canary ${state} my order from last week has not arrived yet`;
    const input = (state: string) => ({
      feature_id: 'aif_1_1_5',
      expected_version: state === 'failed' ? 99 : 3,
      context: { type: 'text', text: text(state), default_language: 'en' },
    });
    const messageId = (state: string): string => `Canary-message-${state}`;
    const sent = (state: string) => ({ skill, input: input(state), messageId: messageId(state) });
    expect(await world.send(world.a, sender.token, sent('completed'))).toMatchObject({
      state: 'completed',
      websiteId: 'web_1_1',
    });
    expect(await world.send(world.a, sender.token, sent('failed'))).toMatchObject({
      state: 'failed',
      failure: 'operation_conflict',
    });
    const slow = probe();
    for (let i = 0; i < 5; i++) {
      await world.send(world.a, sender.token, {
        skill: { ...slow.skill, name: skill.name },
        input: input('working'),
        messageId: messageId(`working-${i}`),
        wait: false,
      });
    }
    await until(() => slow.held() === 5);
    for (const state of ['submitted', 'canceled']) {
      const { id } = await world.send(world.a, sender.token, { ...sent(state), wait: false });
      if (state === 'canceled') await world.cancel(world.b, sender.token, id);
    }
    const [states] = await world.database.sql`SELECT count(DISTINCT state) AS n FROM gateway.task`;
    expect(Number(states?.['n'])).toBe(5);
    const all = await dump();
    expect(all).not.toMatch(/canary|last week/i);
    // Prove that the search works: it must find the context. The store keeps the context, because the context belongs
    // to the client.
    await world.send(world.a, sender.token, { contextId: 'Canary context', wait: false });
    expect(await dump()).toMatch(/canary/i);
    slow.release();
    await until(async () => (await world.count('working', sender.installation)) === 0);
  });

  it('a write of a skill happens once for a message, also after its task has expired', async () => {
    const sender = await world.issue();
    const sending = {
      skill: world.skill('offline_language_detection'),
      input: {
        feature_id: 'aif_1_1_5',
        expected_version: 3,
        context: { type: 'text', text: 'Where is my parcel? I have been waiting.', default_language: 'en' },
      },
      messageId: newMessage(),
    };
    const operations = async (): Promise<number> => {
      const [row] = await world.database.sql`SELECT count(*) AS n FROM gateway.operation
        WHERE credential_id = ${sender.credential}`;
      return Number(row?.['n']);
    };
    const first = await world.send(world.a, sender.token, sending);
    expect(first.state).toBe('completed');
    await world.database.sql`DELETE FROM gateway.task WHERE id = ${first.id}`;
    const second = await world.send(world.b, sender.token, sending);
    expect(second.id).not.toBe(first.id);
    expect(second.artifact).toEqual(first.artifact);
    expect(await operations()).toBe(1);
  });
});

describe('what has expired', () => {
  it('is deleted with its artifact, running or not; nothing else is', async () => {
    const { sql } = world.database;
    const sender = await world.issue();
    const slow = probe();
    const done = await world.send(world.a, sender.token);
    const kept = await world.send(world.a, sender.token);
    const running = await world.send(world.a, sender.token, { skill: slow.skill, wait: false });
    await until(() => slow.held() === 1);
    // Switch off the trigger, because it forbids changes of an ended task.
    await sql`ALTER TABLE gateway.task DISABLE TRIGGER task_ended`;
    await sql`UPDATE gateway.task SET expires_at = now() WHERE id IN (${done.id}, ${running.id})`;
    await sql`ALTER TABLE gateway.task ENABLE TRIGGER task_ended`;
    await sweep(world.b.db);
    expect([await world.row(done.id), await world.row(running.id)]).toEqual([undefined, undefined]);
    expect(await world.row(kept.id)).toMatchObject({ state: 'completed' });
    slow.release();
    await pause(100);
    expect(await world.row(running.id)).toBeUndefined();
  });

  it('while it runs: it is not published, even before anybody sweeps', async () => {
    const { sql } = world.database;
    const sender = await world.issue();
    const slow = probe();
    const waiting = world.send(world.a, sender.token, { skill: slow.skill });
    await until(() => slow.held() === 1);
    await sql`UPDATE gateway.task SET expires_at = clock_timestamp() WHERE installation_id = ${sender.installation}`;
    slow.release();
    expect(await waiting).toMatchObject({ artifact: undefined });
    const rows = await sql`SELECT artifact FROM gateway.task WHERE installation_id = ${sender.installation}`;
    for (const { artifact } of rows) expect(artifact).toBeNull();
  });
});

describe('F-03 a reply is lost after its commit', () => {
  // Test both ways to store a task: alone with a single statement, and in a batch.
  it.each(['accept_task', 'end_task', 'accept_tasks', 'end_tasks'])(
    'of %s: one task, run once, and the caller has its result',
    async (name) => {
      const sender = await world.issue();
      const { skill, runs, release } = probe();
      release();
      const replica = name.endsWith('s') ? cut : alone;
      await world.send(replica, sender.token);
      const trap = proxy.arm({ match: new RegExp(`gateway\\.${name}\\(`), at: 'after-sync', action: 'cut' });
      const task = await world.send(replica, sender.token, { skill });
      expect(trap.hits()).toBe(1);
      proxy.disarm();
      expect(task).toMatchObject({ state: 'completed', artifact: { data: { contact: {} } } });
      expect(runs()).toBe(1);
      expect(await world.moves(task.id)).toEqual(['working', 'working>completed']);
    },
  );

  it('for good, of a batch that was accepted: nobody was told of its tasks, and their messages are free again', async () => {
    let silent = false;
    const query =
      (db: Database): Database['query'] =>
      async (statement) => {
        const rows = await db.query<never>(statement);
        if (!silent || !compile(statement).text.includes('accept_tasks(')) return rows;
        throw new StoreUnreachable('planted', { cause: Object.assign(new Error('planted'), { code: 'ETIMEDOUT' }) });
      };
    const replica = await world.open(undefined, { db: (db) => ({ ...db, query: query(db) }) });
    const sender = await world.issue();
    await world.send(replica, sender.token);
    silent = true;
    const messageIds = Array.from({ length: 3 }, newMessage);
    for (const messageId of messageIds)
      await expect(world.send(replica, sender.token, { messageId })).rejects.toMatchObject({
        code: 'service_unavailable',
      });
    expect(await world.count('working', sender.installation)).toBe(3);
    silent = false;
    await until(async () => (await world.count('working', sender.installation)) === 0);
    for (const messageId of messageIds)
      expect(await world.send(replica, sender.token, { messageId })).toMatchObject({ state: 'completed' });
    await replica.close();
  });

  it('F-06 of one connection that goes silent: whoever comes after its time-out is served as before', async () => {
    const { host, port, name } = world.database;
    const own = await openProxy({ host, port });
    const replica = await world.open(own.url(name), { statementTimeout: 400 });
    // An installation can have only a hundred tasks, so use several senders.
    const senders = await Promise.all(Array.from({ length: 6 }, () => world.issue({ perMinute: 6_000, burst: 1_000 })));
    await Promise.all(senders.map(({ token }) => world.send(replica, token)));
    const slow = probe();
    const holders = await Promise.all(Array.from({ length: 3 }, () => world.issue()));
    for (const { token } of holders)
      for (let n = 0; n < 5; n++) await world.send(replica, token, { skill: slow.skill, wait: false });
    await until(() => slow.held() === 15);
    let going = true;
    const results: boolean[] = [];
    const callers = senders.map(async ({ token }) => {
      for (; going; await pause(60)) {
        const state = await world.send(replica, token).then(
          (task) => task.state,
          () => 'refused',
        );
        results.push(state === 'completed');
      }
    });
    const trap = own.arm({ match: /gateway\.accept_tasks\(/, at: 'after-sync', action: 'blackhole', times: 1 });
    await trap.fired;
    for (let n = 0; n < 15; n++) {
      slow.release('one');
      await pause(100);
    }
    results.length = 0;
    await pause(1_500);
    going = false;
    await Promise.all(callers);
    expect(results.length).toBeGreaterThan(50);
    expect(results.filter((good) => !good)).toEqual([]);
    world.errors.splice(0); // drop the failures that were reported while the connection was silent
    await replica.close();
    await own.close();
  });

  it('of start_tasks: what has been started runs', async () => {
    const sender = await world.issue();
    const { skill, runs, release } = probe();
    release();
    await world.send(cut, sender.token);
    const trap = proxy.arm({ match: /gateway\.start_tasks/, at: 'after-sync', action: 'cut' });
    const { id } = await world.send(cut, sender.token, { skill, wait: false });
    await trap.fired;
    proxy.disarm();
    await until(async () => (await world.row(id))?.state === 'completed');
    expect(runs()).toBe(1);
    expect(world.errors.splice(0).map(String).join()).toMatch(/cannot be reached/);
  });

  it('of cancel_task: the caller is told that it was canceled', async () => {
    const sender = await world.issue();
    const slow = probe();
    const { id } = await world.send(world.a, sender.token, { skill: slow.skill, wait: false });
    const trap = proxy.arm({ match: /gateway\.cancel_task/, at: 'after-sync', action: 'cut' });
    expect(await world.cancel(cut, sender.token, id)).toMatchObject({ canceled: true, task: { state: 'canceled' } });
    expect(trap.hits()).toBe(1);
    proxy.disarm();
    expect(await world.cancel(cut, sender.token, id)).toMatchObject({ canceled: false });
    slow.release();
  });

  it('F-06 a store that is silent for a while: what was held is published, once', async () => {
    const sender = await world.issue();
    const slow = probe();
    const { id } = await world.send(cut, sender.token, { skill: slow.skill, wait: false });
    await until(() => slow.held() === 1);
    const heal = proxy.blackhole();
    slow.release();
    await pause(2_000);
    expect(await world.row(id)).toMatchObject({ state: 'working' });
    heal();
    await until(async () => (await world.row(id))?.lease_until === null, 15_000);
    expect(await world.moves(id)).toEqual(['submitted', 'submitted>working', 'working>completed']);
    world.errors.splice(0);
  });
});

it('the store refuses a task that no process could have written', async () => {
  const { sql } = world.database;
  const sender = await world.issue();
  await world.send(world.a, sender.token);
  const [kept] = await sql<{ id: string }[]>`
    SELECT id FROM gateway.task WHERE installation_id = ${sender.installation} AND state = 'completed'`;
  const copy = (changes: string) =>
    sql.unsafe(
      `INSERT INTO gateway.task SELECT (jsonb_populate_record(k, jsonb_build_object(
       'id', 'task_' || md5($2), 'message', sha256($2::bytea)) || $2::jsonb)).* FROM gateway.task k WHERE k.id = $1`,
      [kept?.id ?? '', changes],
    );
  await copy('{}');
  const artifact = { big: 'x'.repeat(131_072) };
  const wrong = [
    ...[{ id: 'task_1' }, { context_id: '' }, { context_id: 'x'.repeat(129) }, { message: '\\x01' }],
    ...[{ fingerprint: '\\x01' }, { grants: '\\x01' }, { lost_as: 'x' }, { state: 'x', artifact: null }, { artifact }],
    ...[{ failure: 'internal' }, { state: 'failed', artifact: null }, { artifact: null }, { skill: null }],
    ...[{ state: 'working', artifact: null }, { lease_until: '2030-01-01' }],
  ];
  for (const changes of wrong)
    await expect(copy(JSON.stringify(changes)), JSON.stringify(changes).slice(0, 80)).rejects.toMatchObject({
      code: '23514',
      constraint_name: 'task_valid',
    });
});
