import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compile } from '../../src/core/sql.ts';
import { sweep } from '../../src/tasks/sweeper.ts';
import type { Task } from '../../src/tasks/tasks.ts';
import { times } from '../support/form.ts';
import { newMessage, openWorld, probe, until, type World } from '../support/tasks.ts';

/**
 * A2-06 and A2-07: the final state of a task never changes. At most five tasks of an installation run at a time, over
 * all replicas.
 */
let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  expect(world.errors).toEqual([]);
  await world.close();
});

const LEGAL = [
  ['submitted', 'submitted>canceled'],
  ['submitted', 'submitted>failed'],
  ...['completed', 'failed', 'canceled'].flatMap((end) => [
    ['working', `working>${end}`],
    ['submitted', 'submitted>working', `working>${end}`],
  ]),
].map((moves) => moves.join(' '));

describe('A2-06', () => {
  const RACES = times(60, 200);
  it('races of cancel and complete over two replicas: one of them wins, and it stays so', async () => {
    const seen = { canceled: 0, completed: 0 };
    let sender = await world.issue();
    for (let race = 0; race < RACES; race++) {
      // An installation can have at most 100 unexpired tasks, so use a new installation.
      if (race % 50 === 49) sender = await world.issue();
      const [here, there] = race % 2 ? [world.a, world.b] : [world.b, world.a];
      const messageId = newMessage();
      const { id } = await world.send(here, sender.token, { messageId, wait: false });
      const waiting = world.send(here, sender.token, { messageId });
      if (race % 4 > 1) await pause(race % 8);
      const answer = await world.cancel(there, sender.token, id);
      const waited = await waiting;
      const row = await world.row(id);
      expect(['canceled', 'completed']).toContain(row?.state);
      expect(answer?.canceled).toBe(row?.state === 'canceled');
      expect(answer?.task.state).toBe(row?.state);
      expect(row?.artifact === null).toBe(row?.state === 'canceled');
      for (const told of [answer?.task, waited, await world.get(there, sender.token, id)]) {
        expect(told?.state).toBe(row?.state);
        if (row?.state === 'canceled') expect(told?.artifact).toBeUndefined();
        else expect(told?.artifact).toMatchObject({ data: { contact: {} } });
      }
      expect(await world.cancel(here, sender.token, id)).toMatchObject({
        canceled: false,
        task: { state: row?.state },
      });
      expect(LEGAL).toContain((await world.moves(id)).join(' '));
      seen[row?.state === 'canceled' ? 'canceled' : 'completed']++;
    }
    console.info(`A2-06: ${seen.canceled} canceled, ${seen.completed} completed`);
    expect(Math.min(seen.canceled, seen.completed)).toBeGreaterThan(RACES / 40);
  });

  it('a result that comes after the cancellation is not published', async () => {
    const sender = await world.issue();
    const { skill, release, held } = probe();
    const messageId = newMessage();
    const waiting = world.send(world.a, sender.token, { skill, messageId });
    await until(() => held() === 1);
    const { id } = await world.send(world.b, sender.token, { skill, messageId, wait: false });
    const elsewhere = world.send(world.b, sender.token, { skill, messageId });
    await pause(100);
    const began = performance.now();
    expect(await world.cancel(world.a, sender.token, id)).toMatchObject({ canceled: true });
    // The cancellation ends the waiting calls on both replicas, because there will be no result.
    expect(await waiting).toMatchObject({ id, state: 'canceled', artifact: undefined });
    expect(await elsewhere).toMatchObject({ id, state: 'canceled', artifact: undefined });
    expect(performance.now() - began).toBeLessThan(5_000);
    release();
    await pause(100);
    expect(await world.row(id)).toMatchObject({ state: 'canceled', artifact: null });
    expect(await world.moves(id)).toEqual(['working', 'working>canceled']);
  });

  it('a cancellation before the reply of the acceptance has come: the skill never runs', async () => {
    const sender = await world.issue();
    let hold: Promise<void> | undefined;
    // Holds the replies of committed acceptances back.
    const late = await world.open(undefined, {
      db: (db) => ({
        ...db,
        query: async (statement) => {
          const rows = await db.query<never>(statement);
          if (/gateway\.accept_task/.test(compile(statement).text)) await hold;
          return rows;
        },
      }),
    });
    const { skill, runs, release } = probe();
    release();
    let go = (): void => undefined;
    hold = new Promise((resolve) => {
      go = resolve;
    });
    const waiting = world.send(late, sender.token, { skill });
    await until(async () => (await world.count('working', sender.installation)) === 1);
    const [task] = (
      await world.run(world.a, sender.token, (caller) => world.a.tasks.list(caller, { pageSize: 1, artifacts: false }))
    ).tasks;
    expect(await world.cancel(late, sender.token, task?.id ?? '')).toMatchObject({ canceled: true });
    go();
    expect(await waiting).toMatchObject({ id: task?.id, state: 'canceled' });
    await late.close();
    expect(runs()).toBe(0);
  });

  it('a task that has ended keeps its state, and a running one never waits again', async () => {
    const sender = await world.issue();
    const { id } = await world.send(world.a, sender.token);
    const { sql } = world.database;
    for (const change of [
      sql`UPDATE gateway.task SET state = 'working', artifact = NULL, lease_until = now() WHERE id = ${id}`,
      sql`UPDATE gateway.task SET state = 'canceled', artifact = NULL WHERE id = ${id}`,
      sql`UPDATE gateway.task SET artifact = '{}' WHERE id = ${id}`,
    ]) {
      await expect(change).rejects.toThrow('is completed');
    }
    const held = probe();
    const waiting = world.send(world.a, sender.token, { skill: held.skill });
    await until(() => held.held() === 1);
    await expect(sql`UPDATE gateway.task SET state = 'submitted' WHERE state = 'working'`).rejects.toThrow(
      'is working',
    );
    held.release();
    expect((await waiting).state).toBe('completed');
  });

  it.each([
    ['131,072 bytes', 131_072, 'completed'],
    ['one byte more', 131_073, 'failed'],
  ])('%s of UTF-8, in few characters: %s', async (_, size, state) => {
    const sender = await world.issue();
    const frame = Buffer.byteLength(JSON.stringify({ data: '' }));
    // Most characters here have three bytes in UTF-8, and the others have one byte. A limit in characters would be far
    // off.
    const wide = Math.floor((size - frame) / 3);
    const body = { data: '€'.repeat(wide) + 'x'.repeat(size - frame - 3 * wide) };
    expect(Buffer.byteLength(JSON.stringify(body))).toBe(size);
    const { skill, release } = probe(async () => body);
    release();
    const task = await world.send(world.a, sender.token, { skill });
    expect([task.state, task.failure]).toEqual([state, state === 'failed' ? 'artifact_too_large' : null]);
    const row = await world.row(task.id);
    expect(row?.artifact ?? undefined).toEqual(state === 'completed' ? body : undefined);
    expect((await world.get(world.b, sender.token, task.id))?.artifact).toEqual(task.artifact);
  });

  it('a skill that fails gives a code and nothing else', async () => {
    const sender = await world.issue();
    const gone = await world.send(world.a, sender.token, { input: { contact_id: 'ctc_1_1_999999' } });
    expect(gone).toMatchObject({ state: 'failed', failure: 'not_found', artifact: undefined });
    const broken = probe(async () => {
      throw new Error('postgres://user:secret@host is down');
    });
    broken.release();
    const task = await world.send(world.a, sender.token, { skill: broken.skill });
    expect(task).toMatchObject({ state: 'failed', failure: 'internal', artifact: undefined });
    expect(JSON.stringify([await world.row(task.id), task])).not.toContain('secret');
    // Only the operator gets the text of the error.
    expect(String(world.errors.splice(0))).toContain('is down');
    const stray = probe(({ call }) => call('contacts_list', { website_id: 'web_1_1' }));
    stray.release();
    expect((await world.send(world.a, sender.token, { skill: stray.skill })).failure).toBe('internal');
    expect(String(world.errors.splice(0))).toContain('does not compose contacts_list');
  });
});

describe('A2-07', () => {
  const states = async (tasks: readonly Task[]): Promise<string> =>
    (await Promise.all(tasks.map(({ id }) => world.row(id)))).map((row) => row?.state[0] ?? '-').join('');

  it('five of both replicas run, the sixth waits, and the oldest goes next, wherever it waits', async () => {
    const sender = await world.issue();
    const slow = probe();
    const tasks = await world.fill(slow, sender, 9);
    for (const { state } of tasks) expect(state).toBe('submitted');
    await until(() => slow.held() === 5);
    await pause(600);
    expect(await states(tasks)).toBe('wwwwwssss');
    // Every installation has its own limit of five running tasks.
    const other = await world.issue({ app: sender.app });
    expect((await world.send(world.a, other.token)).state).toBe('completed');
    for (let done = 1; done <= 4; done++) {
      slow.release('one');
      // It is random which of the five runs is released. The next task to start is always the oldest.
      await until(async () => {
        const now = await states(tasks);
        const sorted = [...now.slice(0, 5 + done)].sort().join('');
        return sorted === `${'c'.repeat(done)}wwwww` && /^s*$/.test(now.slice(5 + done));
      });
      await until(() => slow.held() === 5);
    }
    slow.release();
    await until(async () => (await states(tasks)) === 'ccccccccc');
    for (const { id } of tasks) expect(LEGAL).toContain((await world.moves(id)).join(' '));
  });

  it('110 at once on both replicas: five run at any time, a hundred are accepted', async () => {
    const sender = await world.issue();
    const slow = probe();
    let [refused, most] = [0, 0];
    const sending = Array.from({ length: 110 }, (_, i) =>
      world.send(i % 2 ? world.a : world.b, sender.token, { skill: slow.skill }).catch(({ code }: { code: string }) => {
        expect(code).toBe('task_limit');
        refused++;
      }),
    );
    await until(() => refused === 10, 20_000);
    await until(() => slow.held() === 5);
    while (slow.runs() < 100) {
      const running = await world.count('working', sender.installation);
      most = Math.max(most, slow.held(), running);
      slow.release('one');
      await pause(1);
    }
    slow.release();
    await Promise.all(sending);
    expect(most).toBe(5);
    expect(await world.count('completed', sender.installation)).toBe(100);
  });

  it('a waiting caller gets the sixth’s result when a place is free; cancelling one that runs frees its place', async () => {
    const sender = await world.issue();
    const slow = probe();
    const running = await world.fill(slow, sender, 5);
    await until(() => slow.held() === 5);
    const sixth = world.send(world.b, sender.token);
    await until(async () => (await world.count('submitted', sender.installation)) === 1);
    await world.cancel(world.b, sender.token, running[0]?.id ?? '');
    expect(await sixth).toMatchObject({ state: 'completed' });
    slow.release();
  });

  it('one that waits can be canceled, and is never run', async () => {
    const sender = await world.issue();
    const slow = probe();
    await world.fill(slow, sender, 5);
    await until(() => slow.held() === 5);
    const last = probe();
    const messageId = newMessage();
    const sixth = world.send(world.a, sender.token, { skill: last.skill, messageId });
    await until(async () => (await world.count('submitted', sender.installation)) === 1);
    const { id } = await world.send(world.b, sender.token, { skill: last.skill, messageId, wait: false });
    expect(await world.cancel(world.b, sender.token, id)).toMatchObject({ canceled: true });
    expect(await sixth).toMatchObject({ id, state: 'canceled' });
    slow.release();
    await until(async () => (await world.count('working', sender.installation)) === 0);
    await pause(400);
    expect(last.runs()).toBe(0);
    expect(await world.moves(id)).toEqual(['submitted', 'submitted>canceled']);
  });

  it('the 101st unexpired task is refused with the seconds to the next expiry, uses nothing up, and finds its place then', async () => {
    const { sql } = world.database;
    const sender = await world.issue();
    const slow = probe();
    const tasks = await world.fill(slow, sender, 100);
    const replica = world.b;
    const spent = async (): Promise<number> =>
      replica.corridor.quotaOf(await world.authority(replica, sender.token))?.remaining ?? 0;
    const messageId = newMessage();
    const before = await spent();
    const refusal = await world.send(replica, sender.token, { messageId }).catch((error: unknown) => error);
    expect(before - (await spent())).toBe(2); // the two requests cost one unit each, and no task was started
    const [next] = await sql<
      { seconds: string }[]
    >`SELECT extract(epoch FROM min(expires_at) - clock_timestamp()) AS seconds
      FROM gateway.task WHERE installation_id = ${sender.installation}`;
    const retryAfter = (refusal as { details: { retryAfter: number } }).details.retryAfter; // the next line checks the refusal
    expect(refusal).toMatchObject({ code: 'task_limit', status: 429 });
    expect(retryAfter).toBeGreaterThanOrEqual(Number(next?.seconds));
    expect(retryAfter - Number(next?.seconds)).toBeLessThan(2);
    // All credentials of an installation share the limit of a hundred tasks. A repeated message is not a new task.
    expect(await world.send(replica, sender.token, { messageId: '', wait: false }).catch(({ code }) => code)).toBe(
      'task_limit',
    );
    await sql`UPDATE gateway.task SET expires_at = now() + interval '1.5 seconds' WHERE id = ${tasks[0]?.id ?? ''}`;
    const again = await world.send(replica, sender.token, { messageId }).catch((error: unknown) => error);
    expect(again).toMatchObject({ code: 'task_limit', details: { retryAfter: 2 } });
    await pause(2_000);
    expect(await world.send(replica, sender.token, { messageId, wait: false })).toMatchObject({ state: 'submitted' });
    slow.release();
    await until(async () => (await world.count('completed', sender.installation)) >= 99, 20_000);
  });

  it('a hundred and five are the installation’s, whichever of its credentials sends', async () => {
    const sender = await world.issue();
    const twin = await world.issue({ app: sender.app });
    await world.database.sql`UPDATE gateway.credential SET installation_id = ${sender.installation}
      WHERE id = ${twin.credential}`;
    const slow = probe();
    for (let i = 0; i < 100; i++) {
      const { token } = i % 2 ? sender : twin;
      await world.send(i % 4 > 1 ? world.a : world.b, token, { skill: slow.skill, wait: false });
    }
    await until(() => slow.held() === 5);
    await pause(600);
    expect(await world.count('working', sender.installation)).toBe(5);
    expect(slow.held()).toBe(5);
    for (const { token } of [sender, twin]) {
      await expect(world.send(world.a, token, { wait: false })).rejects.toMatchObject({ code: 'task_limit' });
    }
    slow.release();
    await until(async () => (await world.count('completed', sender.installation)) === 100, 20_000);
  });

  it('a start that is told before the acceptance leaves no place idle', async () => {
    const sender = await world.issue();
    // Delay the replies of the store function accept_task, but not those of start_tasks.
    const late = await world.open(undefined, {
      db: (db) => ({
        ...db,
        query: async (statement) => {
          const rows = await db.query<never>(statement);
          if (/gateway\.accept_task/.test(compile(statement).text)) await pause(30);
          return rows;
        },
      }),
    });
    let worst = 0;
    const caller = async (): Promise<void> => {
      for (let i = 0; i < 5; i++) {
        const began = performance.now();
        expect(await world.send(late, sender.token)).toMatchObject({ state: 'completed' });
        worst = Math.max(worst, performance.now() - began);
      }
    };
    await Promise.all(Array.from({ length: 12 }, caller));
    // Without an immediate start, only the next lease renewal would find the task after 2.5 s.
    expect(worst).toBeLessThan(2_000);
    await late.close();
  });

  it('places of a process that is gone are free after its lease; what it had is interrupted', async () => {
    const sender = await world.issue();
    const slow = probe();
    const dying = await world.open();
    const tasks = await world.fill(slow, sender, 7, [dying]);
    await until(() => slow.held() === 5);
    const waiting = world.send(world.a, sender.token);
    await until(async () => (await world.count('submitted', sender.installation)) === 3);
    // Repeat this step, because the process still runs and can renew its leases at any time.
    await until(async () => {
      await lapse(tasks);
      await sweep(world.b.db);
      return (await states(tasks)) === 'fffffff';
    });
    for (const { id } of tasks) {
      expect(await world.get(world.b, sender.token, id)).toMatchObject({ failure: 'interrupted', artifact: undefined });
    }
    expect(await waiting).toMatchObject({ state: 'completed' });
    // The process wakes up after it has lost its leases. The process must publish nothing.
    slow.release();
    await pause(200);
    expect(await states(tasks)).toBe('fffffff');
    await dying.close();
  });
});

/** Makes the leases expire, as if their process had renewed nothing for ten seconds. */
async function lapse(tasks: readonly Task[]): Promise<void> {
  await world.database.sql`UPDATE gateway.task SET lease_until = now() - interval '1 millisecond'
    WHERE id = ANY(${tasks.map(({ id }) => id)}) AND lease_until IS NOT NULL`;
}

describe('a process', () => {
  it('renews what it holds', async () => {
    const sender = await world.issue();
    const slow = probe();
    const [task] = await world.fill(slow, sender, 1, [world.a]);
    // Wait for the start of the task, because the start also sets a new lease.
    await until(() => slow.held() === 1);
    const leased = (await world.row(task?.id ?? ''))?.lease_until?.getTime() ?? 0;
    await until(async () => ((await world.row(task?.id ?? ''))?.lease_until?.getTime() ?? 0) > leased, 6_000);
    slow.release();
    await until(async () => (await world.row(task?.id ?? ''))?.state === 'completed');
  });

  it('that stops lets tasks under way finish for their callers, ends the rest, and accepts nothing more', async () => {
    const sender = await world.issue();
    const replica = await world.open();
    const [early, quick, stuck] = [probe(), probe(), probe()];
    await world.fill(early, sender, 1, [replica]);
    const rest = await world.fill(stuck, sender, 4, [replica]);
    await until(() => stuck.held() === 4);
    // This one is accepted as a waiting task, and runs before the stop.
    const told = world.send(replica, sender.token, { skill: quick.skill });
    await until(async () => (await world.count('submitted', sender.installation)) === 1);
    early.release();
    await until(() => quick.held() === 1);
    rest.push(...(await world.fill(stuck, sender, 2, [replica])));
    const waiting = world.send(replica, sender.token);
    await until(async () => (await world.count('submitted', sender.installation)) === 3);
    const began = performance.now();
    const stopping = replica.tasks.stop();
    expect((await waiting).state).toBe('submitted');
    expect(performance.now() - began).toBeLessThan(500);
    await expect(world.send(replica, sender.token)).rejects.toMatchObject({ code: 'service_unavailable' });
    quick.release();
    await stopping;
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(await told).toMatchObject({ state: 'completed' });
    for (const { id } of rest) expect(await world.row(id)).toMatchObject({ state: 'failed', failure: 'interrupted' });
    expect(await world.count('working', sender.installation)).toBe(0);
    stuck.release();
    await replica.close();
  });

  it('that stops waits for acceptances under way, and leaves no lease behind', async () => {
    const sender = await world.issue();
    const slow = probe();
    let asked = false;
    const replica = await world.open(undefined, {
      db: (db) => ({
        ...db,
        query: async (statement) => {
          const accepting = /gateway\.accept_task/.test(compile(statement).text);
          asked ||= accepting;
          if (accepting) await pause(300);
          return db.query<never>(statement);
        },
      }),
    });
    const sending = world.send(replica, sender.token, { skill: slow.skill });
    await until(() => asked);
    await replica.tasks.stop();
    const { id } = await sending;
    expect(await world.row(id)).toMatchObject({ state: 'failed', failure: 'interrupted', lease_until: null });
    slow.release();
    await replica.close();
  });

  it('that is lost leaves the outcome of a write unknown', async () => {
    const sender = await world.issue();
    const slow = probe();
    const write = { ...slow.skill, tools: [...slow.skill.tools, 'ai_feature_execute'] };
    const [stopped, gone] = [await world.open(), await world.open()];
    const [one, other] = [
      await world.send(stopped, sender.token, { skill: write, wait: false }),
      await world.send(gone, sender.token, { skill: write, wait: false }),
    ];
    await until(() => slow.held() === 2);
    await stopped.tasks.stop();
    await until(async () => {
      await lapse([other]);
      await sweep(world.b.db);
      return (await world.row(other.id))?.state === 'failed';
    });
    for (const { id } of [one, other]) expect(await world.row(id)).toMatchObject({ failure: 'outcome_unknown' });
    slow.release();
    await Promise.all([stopped.close(), gone.close()]);
  });

  it('that is patient for so long answers with what is then', async () => {
    const sender = await world.issue();
    const slow = probe();
    const hasty = await world.open(undefined, { patience: 300 });
    const messageId = newMessage();
    for (const replica of [hasty, hasty]) {
      const began = performance.now();
      expect(await world.send(replica, sender.token, { skill: slow.skill, messageId })).toMatchObject({
        state: 'working',
      });
      expect(performance.now() - began).toBeGreaterThanOrEqual(299);
      expect(performance.now() - began).toBeLessThan(2_000);
    }
    slow.release();
    expect(await world.send(hasty, sender.token, { skill: slow.skill, messageId })).toMatchObject({
      state: 'completed',
    });
    await hasty.close();
  });

  it('that a client leaves ends the wait and not the task', async () => {
    const sender = await world.issue();
    const slow = probe();
    const leaving = new AbortController();
    const waiting = world.send(world.a, sender.token, { skill: slow.skill, signal: leaving.signal });
    await until(() => slow.held() === 1);
    leaving.abort();
    const { id, state } = await waiting;
    expect(state).toBe('working');
    slow.release();
    await until(async () => (await world.row(id))?.state === 'completed');
  });
});
