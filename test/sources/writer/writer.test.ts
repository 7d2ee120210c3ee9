import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, vi } from 'vitest';
import { packageRoot } from '../../../src/config/package.ts';
import { openWriter } from '../../../src/sources/writer/writer.ts';
import { TOKEN } from '../../support/chatwoot/api.ts';
import { type WriteBackWorld, type WriterGiven, writeBackWorld } from '../../support/chatwoot/write-back-world.ts';
import { itInFull, itOnce as test } from '../../support/form.ts';
import { disposition, note } from '../../support/ledger/commands.ts';
import type { Reply } from '../../support/ledger/world.ts';
import { keys } from '../../support/sources.ts';

/** Tests the thread of the writes to a helpdesk: what its start and its end do to writes. */
let world: WriteBackWorld;
let visitor: string;
let conversation: string;
let count = 0;
const fresh = (): string => `key-${++count}`;
const entry = new URL('dist/test/support/writer/planted.js', packageRoot);
/** Milliseconds in which the ledger answers each write. */
const ANSWERED = 8_500;

beforeAll(async () => {
  world = await writeBackWorld();
  [visitor, conversation] = [await world.visitor(1), await world.conversation(1)];
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await world.store.sql`DELETE FROM gateway.write_back`;
});
afterAll(() => world.close());

const add = (text: string, key = fresh()): Promise<Reply> => world.write('REST', note(text, visitor), key);
const set = (value: string): Promise<Reply> => world.write('REST', disposition(value, conversation), fresh());
const inChatwoot = async (text: string): Promise<number> =>
  (await world.desk.sql`SELECT 1 FROM notes WHERE starts_with(content, ${text})`).length;
/** The processes that serve the connections of the writes. */
const connections = async (): Promise<number[]> =>
  (
    await world.desk.sql<{ pid: number }[]>`SELECT pid FROM pg_stat_activity
      WHERE application_name = 'gateway-write-back' AND datname = current_database() ORDER BY pid`
  ).map(({ pid }) => pid);
/** Starts with no thread. */
async function opened(options: WriterGiven = { writer: { entry } }): Promise<WriteBackWorld> {
  await world.reopen(options);
  await expect.poll(connections, { timeout: 10_000 }).toEqual([]);
  return world;
}

itInFull('a thread that ends leaves an unknown outcome, and the starts have a bound', async () => {
  const { reconcile, status, logged, source } = await opened();
  const outcomes: (string | undefined)[] = [];
  for (const [text, effects] of [
    ['Planted after hang', 1],
    ['Planted before throw', 0],
    ['Planted before fill', 0],
  ] as const) {
    const began = performance.now();
    const first = await add(text);
    const took = performance.now() - began;
    console.info(`${text}: ${first.code} after ${took.toFixed(0)} ms`);
    expect([text, first.code, await inChatwoot(text)]).toEqual([text, 'outcome_unknown', effects]);
    expect(took).toBeLessThan(ANSWERED);
    await reconcile(first.operationId);
    outcomes.push(await status(first.operationId));
  }
  // The look for the first note was the work of the second thread.
  expect(outcomes).toEqual(['acknowledged', 'outcome_unknown', 'outcome_unknown']);
  expect((await add('Of the fourth thread')).status).toBe(200);
  expect((await add('Planted before exit')).code).toBe('outcome_unknown');
  const key = fresh();
  const refusal = await add('Of no thread', key);
  expect([refusal.status, refusal.code, await inChatwoot('Of no thread')]).toEqual([503, 'native_unavailable', 0]);
  expect((await source.state()).state).toBe('following');
  const told = inspect(logged, { depth: null });
  expect(told).toContain('stopped responding');
  expect(told).toContain('ended unexpectedly');
  expect(told).toContain('ended too often');
  expect(told).toContain('with postgres:');
  expect(told).not.toContain(TOKEN);
});

test('an error of a call crosses without the token, and ends no thread', async () => {
  const { logged } = await opened();
  for (let i = 0; i < 6; i++) expect((await add(`Planted before tell ${i}`)).code).toBe('outcome_unknown');
  expect((await add('Of the same thread')).status).toBe(200);
  const told = inspect(logged, { depth: null });
  expect(told).toContain('with postgres:');
  expect(told).not.toContain(TOKEN);
});

test('calls under way end with their thread, and calls that wait get the next thread', async () => {
  const { api } = await opened();
  expect((await add('First')).status).toBe(200);
  api.fail('POST', '/notes', { kind: 'slow', ms: 700 }, 3);
  const slow = [1, 2, 3].map((i) => add(`Slow ${i}`));
  await expect.poll(() => api.load.now).toBe(3);
  const ended = await add('Planted before exit');
  const codes = (await Promise.all(slow)).map(({ code }) => code);
  expect([ended.code, ...codes]).toEqual(Array.from({ length: 4 }, () => 'outcome_unknown'));
  expect((await add('Next')).status).toBe(200);
  await expect.poll(async () => (await inChatwoot('Slow')) > 0 || api.load.now === 0).toBe(true);
});

test('the start of a thread takes no time from a write', async () => {
  vi.stubEnv('PLANTED_START', '1000');
  // A write takes at most 1.5 s in the helpdesk in these tests.
  const { api } = await opened();
  api.fail('POST', '/notes', { kind: 'slow', ms: 700 });
  const began = performance.now();
  const replies = await Promise.all(['One', 'Two', 'Three', 'Four', 'Five', 'Six'].map((text) => add(text)));
  expect(performance.now() - began).toBeGreaterThan(1_000);
  expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 200));
});

itInFull('a write whose thread starts too late is refused, and succeeds later with the same key', async () => {
  vi.stubEnv('PLANTED_START', '5000');
  const { api } = await opened();
  const [key, began] = [fresh(), performance.now()];
  expect((await add('Too early', key)).code).toBe('native_unavailable');
  const took = performance.now() - began;
  expect([took > 2_500, took < ANSWERED]).toEqual([true, true]);
  expect(api.asked.filter((line) => line.startsWith('POST'))).toEqual([]);
  await expect.poll(async () => (await add('Too early', key)).status).toBe(200);
});

test('an idle thread is closed with its connection, and the next write starts another', async () => {
  await opened({ writer: { idle: 1_000 } });
  expect((await set('solved')).status).toBe(200);
  expect(await connections()).toHaveLength(1);
  await pause(500);
  expect(await connections()).toHaveLength(1);
  await expect.poll(connections, { timeout: 10_000 }).toEqual([]);
  expect((await set('refund')).status).toBe(200);
});

/** Adds so many copies of the source, which nobody reads. Returns a function that leads the writes to one of them. */
async function copies(count: number): Promise<(copy: number) => Promise<void>> {
  const { store } = world;
  onTestFinished(async () => {
    await store.sql`DELETE FROM gateway.source WHERE holder = 'nobody'`;
  });
  // The writes of a website go to the source with the lowest id.
  await store.sql`INSERT INTO gateway.source (id, tenant, site, kind, account, mode, period, time_zone, address, api_url,
      api_token, paused, holder, lease_until)
    SELECT 'src_' || lpad(n::text, 32, '0'), tenant, site, kind, lpad('1', n + 1, '0'), mode, period, time_zone, address,
      api_url, api_token, true, 'nobody', 'infinity' FROM gateway.source, generate_series(1, ${count}::integer) AS n`;
  return async (copy) => {
    await store.sql`UPDATE gateway.source SET paused = id <> 'src_' || lpad(${copy}::text, 32, '0') WHERE holder = 'nobody'`;
  };
}

test('a process has eight threads of writes at most, and closes the one that is idle longest', async () => {
  await opened({});
  const lead = await copies(10);
  for (let copy = 1; copy <= 10; copy++) {
    await lead(copy);
    expect([copy, (await set('solved')).status]).toEqual([copy, 200]);
    expect(await connections()).toHaveLength(Math.min(copy, 8));
  }
  const before = await connections();
  await lead(3);
  expect((await set('refund')).status).toBe(200);
  expect(await connections()).toEqual(before);
  await lead(1);
  expect((await set('solved')).status).toBe(200);
  await lead(3);
  expect((await set('refund')).status).toBe(200);
  // The thread of source 4 was idle longest.
  expect((await connections()).filter((pid) => before.includes(pid))).toHaveLength(7);
});

test('a write beyond the threads that all work is refused, and a later one succeeds with the same key', async () => {
  const { api } = await opened({ most: 2 });
  const lead = await copies(3);
  for (const copy of [1, 2]) {
    await lead(copy);
    expect((await add(`First of ${copy}`)).status).toBe(200);
  }
  api.fail('POST', '/notes', { kind: 'slow', ms: 1_200 }, 2);
  const slow: Promise<Reply>[] = [];
  for (const copy of [1, 2]) {
    await lead(copy);
    slow.push(add(`Slow of ${copy}`));
    await expect.poll(() => api.load.now, { interval: 5 }).toBe(copy);
  }
  await lead(3);
  const key = fresh();
  const refusal = await add('Beyond', key);
  expect(api.load.now).toBe(2);
  expect([refusal.status, refusal.code, await inChatwoot('Beyond')]).toEqual([503, 'native_unavailable', 0]);
  expect((await Promise.all(slow)).map(({ status }) => status)).toEqual([200, 200]);
  expect((await add('Beyond', key)).status).toBe(200);
});

test('a write that waits for its thread is sent when the source gets another token meanwhile', async () => {
  vi.stubEnv('PLANTED_START', '1000');
  const { store, remote, logged } = await opened();
  const first = add('With the first token');
  await expect
    .poll(async () => (await store.sql`SELECT 1 FROM gateway.write_back`).length, { interval: 5 })
    .toBeGreaterThan(0);
  await pause(100);
  await store.sql`UPDATE gateway.source SET api_token = ${keys.seal('source', TOKEN)}`;
  const second = await add('With the second token');
  expect([second.status, (await first).status]).toEqual([200, 200]);
  expect(logged).toEqual([]);
  await remote.close();
  await expect.poll(connections, { timeout: 10_000 }).toEqual([]);
  // Nothing starts another thread after that.
  const late = await add('Too late');
  expect([late.status, late.code, await inChatwoot('Too late')]).toEqual([503, 'native_unavailable', 0]);
});

test('a writer that was closed starts no thread', async () => {
  const api = { apiUrl: 'http://127.0.0.1:1', token: TOKEN };
  const settings = { address: 'postgres://127.0.0.1:1/none', account: '1', installation: null, ...api };
  const writer = openWriter('chatwoot', settings);
  await writer.ready(AbortSignal.timeout(10_000));
  await writer.close();
  const ending = { refused: 'native_unavailable' };
  await expect(writer.ready(AbortSignal.timeout(10_000))).rejects.toMatchObject({ ending });
  const place = { operationId: `op_${'0'.repeat(64)}`, target: 'cw:1:contact:1' };
  await expect(writer.findNote(place, AbortSignal.timeout(10_000))).rejects.toMatchObject({ ending });
});
