import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Issued, issue } from '../support/credentials.ts';
import { addressOf, freshDatabase, type TestDatabase } from '../support/database.ts';
import { doctor } from '../support/doctor.ts';
import { itInFull, itOnce, repeats } from '../support/form.ts';
import { type Replica, startReplica } from '../support/replica.ts';

/**
 * Checks A2-05, A2-06, F-08, F-12 and F-18: A2A tasks on two real replicas that are killed or stopped. A lock on a
 * table makes the tasks slow. The read of a task then waits for the lock, for at most 2.5 s.
 */
const LEASE = 10_000;
const SKILL = { skill: 'contact_inspection', arguments: { contact_id: 'ctc_1_1_1' } };

let database: TestDatabase;
let replicas: [Replica, Replica];
let sender: Issued;
let count = 0;
const newMessage = (): string => `fault-${++count}`;

interface WireTask {
  readonly id: string;
  readonly status: { readonly state: string; readonly timestamp: string };
  readonly artifacts?: readonly unknown[];
}
type Told = { readonly task: WireTask } | { readonly error: { code: number } } | { readonly http: number };

const start = (): Promise<Replica> => startReplica({ databaseUrl: addressOf(database) });

beforeAll(async () => {
  database = await freshDatabase('demo');
  replicas = await Promise.all([start(), start()]);
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end()));
  expect(await doctor(database)).toEqual([]);
  await database.close();
});
beforeEach(async () => {
  sender = await issue(database.sql, 1);
});
afterEach(async () => {
  const [row] = await database.sql`SELECT count(*) AS n FROM gateway.task
    WHERE (state = 'completed') <> (artifact IS NOT NULL) OR state IN ('submitted', 'working') AND lease_until < now() - interval '5 s'`;
  expect(Number(row?.['n'])).toBe(0);
});

async function ask({ url }: Replica, method: string, params: object, token = sender.token): Promise<Told> {
  const response = await fetch(`${url}/a2a`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(40_000),
  });
  const body = (await response.json()) as { result?: WireTask & { task?: WireTask }; error?: { code: number } };
  if (body.result) return { task: body.result.task ?? body.result };
  return body.error ? { error: body.error } : { http: response.status };
}

const send = (replica: Replica, messageId: string, wait: boolean): Promise<Told> =>
  ask(replica, 'SendMessage', {
    message: {
      messageId,
      role: 'ROLE_USER',
      parts: [{ data: SKILL, mediaType: 'application/json' }],
    },
    configuration: { returnImmediately: !wait },
  });
const taskOf = (told: Told): WireTask => ('task' in told ? told.task : expect.fail(JSON.stringify(told)));
const get = async (replica: Replica, id: string): Promise<WireTask> => taskOf(await ask(replica, 'GetTask', { id }));
const ENDED = /COMPLETED|FAILED|CANCELED/;

async function states(): Promise<Record<string, number>> {
  const rows = await database.sql<{ state: string; n: string }[]>`SELECT state, count(*) AS n FROM gateway.task
    WHERE installation_id = ${sender.installation} GROUP BY state`;
  return Object.fromEntries(rows.map(({ state, n }) => [state, Number(n)]));
}

/** Waits at most `limit` milliseconds for the condition. Returns how many milliseconds it took. */
async function until(what: () => Promise<boolean>, limit = 60_000): Promise<number> {
  const began = performance.now();
  while (!(await what())) {
    if (performance.now() - began > limit) expect.fail(`not within ${limit} ms: ${JSON.stringify(await states())}`);
    await pause(20);
  }
  return performance.now() - began;
}

const locked = <T>(work: () => Promise<T>): Promise<T> =>
  database.sql.begin(async (transaction) => {
    await transaction`LOCK TABLE platform.contact IN ACCESS EXCLUSIVE MODE`;
    return work();
  }) as Promise<T>; // the type of `begin` resolves arrays of promises, but this value is no array

const swept = new Set(['failed', 'completed', 'canceled']);
const settled = async (): Promise<boolean> => Object.keys(await states()).every((state) => swept.has(state));

describe('two replicas', () => {
  it('A2-05 20 parallel sends of a message: one task and one run', async () => {
    const rounds = repeats(10, 10, 3);
    for (let round = 0; round < rounds; round++) {
      const messageId = newMessage();
      const told = await Promise.all(
        Array.from({ length: 20 }, (_, i) => send(i % 2 ? replicas[0] : replicas[1], messageId, i % 3 > 0)),
      );
      const tasks = told.map(taskOf);
      expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
      tasks.forEach((task, i) => {
        if (i % 3 > 0) expect(task.status.state).toBe('TASK_STATE_COMPLETED');
      });
    }
    expect(await states()).toEqual({ completed: rounds });
  });

  const RACES = repeats(60, 200, 6);
  it('A2-06 races of cancel on one against the result on the other', async () => {
    const seen: Record<string, number> = {};
    // The time in milliseconds that a task usually takes on this machine. The test cancels each task before this time
    // is over, so that the task is still running.
    let usual = 8;
    for (let race = 0; race < RACES; race++) {
      if (race % 50 === 0) sender = await issue(database.sql, 1);
      const [here, there] = race % 2 ? replicas : [replicas[1], replicas[0]];
      const messageId = newMessage();
      const began = performance.now();
      const { id } = taskOf(await send(here, messageId, false));
      const waiting = send(here, messageId, true);
      await pause(usual * ((race % 10) / 20));
      const canceled = await ask(there, 'CancelTask', { id });
      const waited = taskOf(await waiting);
      usual = 0.8 * usual + 0.2 * (performance.now() - began);
      const now = await get(there, id);
      expect(now.status.state).toMatch(/COMPLETED|CANCELED/);
      expect(waited.status).toEqual(now.status);
      if ('task' in canceled) expect(canceled.task.status).toEqual(now.status);
      else expect(canceled).toMatchObject({ error: { code: -32002 } });
      expect('task' in canceled).toBe(now.status.state === 'TASK_STATE_CANCELED');
      for (const task of [waited, now]) {
        expect(task.artifacts?.length ?? 0).toBe(now.status.state === 'TASK_STATE_COMPLETED' ? 1 : 0);
      }
      seen[now.status.state] = (seen[now.status.state] ?? 0) + 1;
    }
    console.info(`A2-06 over HTTP: ${JSON.stringify(seen)}`);
    expect(Object.values(seen).every((n) => n > RACES / 40)).toBe(true);
  });
});

describe('F-12 a replica dies with five tasks WORKING and three in the line', () => {
  itOnce('all end within lease + 5 s, the places are free, a message finds its task', async () => {
    const messages = Array.from({ length: 8 }, newMessage);
    const [dying, other] = replicas;
    const tasks = await locked(async () => {
      const sent: WireTask[] = [];
      for (const messageId of messages) sent.push(taskOf(await send(dying, messageId, false)));
      await until(async () => (await states())['working'] === 5);
      expect(await states()).toEqual({ working: 5, submitted: 3 });
      await dying.kill9();
      return sent;
    });
    const began = performance.now();
    // Send one more task to the living replica. All slots are in use. The task therefore starts only when the gateway
    // has ended the tasks of the killed replica.
    const seventh = send(other, newMessage(), true);
    const replacement = start();
    for (const { id } of tasks) {
      await until(async () => ENDED.test((await get(other, id)).status.state), LEASE + 5_000);
    }
    const took = performance.now() - began;
    console.info(`F-12: terminal ${Math.round(took)} ms after the kill`);
    expect(took).toBeLessThan(LEASE + 5_000);
    replicas = [await replacement, other];
    expect(taskOf(await seventh).status.state).toBe('TASK_STATE_COMPLETED');
    expect((await states())['working'] ?? 0).toBe(0);
    for (const [i, messageId] of messages.entries()) {
      const again = taskOf(await send(replicas[i % 2 ? 0 : 1], messageId, true));
      expect([again.id, again.status.state, again.artifacts ?? []]).toEqual([tasks[i]?.id, 'TASK_STATE_FAILED', []]);
    }
    expect(await states()).toEqual({ failed: 8, completed: 1 });
  });
});

describe('F-08 a replica that is stopped for longer than its lease', () => {
  itInFull('publishes nothing of what it had, and goes on', async () => {
    const [zombie, other] = replicas;
    const messageId = newMessage();
    const { id } = await locked(async () => {
      const task = taskOf(await send(zombie, messageId, false));
      await until(async () => (await states())['working'] === 1);
      await zombie.stop();
      return task;
    });
    await until(async () => ENDED.test((await get(other, id)).status.state), LEASE + 5_000);
    const before = await get(other, id);
    expect(before.status.state).toBe('TASK_STATE_FAILED');
    zombie.cont();
    expect(taskOf(await send(zombie, newMessage(), true)).status.state).toBe('TASK_STATE_COMPLETED');
    expect(await get(zombie, id)).toEqual(before);
    expect(await states()).toEqual({ failed: 1, completed: 1 });
  });
});

describe('F-18 a replica that is ended', () => {
  itInFull('ends its waits, finishes or interrupts what it has, and is gone within 10 s', async () => {
    const [ending, other] = replicas;
    const messages = Array.from({ length: 7 }, newMessage);
    const told = await locked(async () => {
      const waiting = messages.map((messageId) => send(ending, messageId, true));
      await until(async () => (await states())['working'] === 5 && (await states())['submitted'] === 2);
      const began = performance.now();
      const exit = ending.end();
      const answers = await Promise.all(waiting);
      expect((await exit).code).toBe(0);
      console.info(`F-18: gone after ${Math.round(performance.now() - began)} ms`);
      expect(performance.now() - began).toBeLessThan(10_000);
      return answers;
    });
    replicas = [await start(), other];
    for (const answer of told) expect(taskOf(answer).status.state).toMatch(/SUBMITTED|WORKING|FAILED/);
    expect(await settled()).toBe(true);
    for (const [i, messageId] of messages.entries()) {
      expect(taskOf(await send(other, messageId, true)).id).toBe(taskOf(told[i] ?? { http: 0 }).id);
    }
  });
});
