import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterEach, expect, test, vi } from 'vitest';
import { packageRoot } from '../../../src/config/package.ts';
import { TOKEN } from '../../support/chatwoot/api.ts';
import { type WriteBackWorld, writeBackWorld } from '../../support/chatwoot/write-back-world.ts';
import { disposition, note } from '../../support/ledger/commands.ts';
import type { Reply } from '../../support/ledger/world.ts';

/** Tests the thread of the writes to a helpdesk: what its start and its end do to writes. */
let world: WriteBackWorld | undefined;
let count = 0;
const fresh = (): string => `key-${++count}`;
const entry = new URL('dist/test/support/writer/planted.js', packageRoot);
/** Milliseconds in which the ledger answers each write. */
const ANSWERED = 8_500;

async function opened(options: Parameters<typeof writeBackWorld>[0]) {
  const here = await writeBackWorld(options);
  world = here;
  const visitor = await here.visitor(1);
  const conversation = await here.conversation(1);
  return {
    ...here,
    add: (text: string, key = fresh()): Promise<Reply> => here.write('REST', note(text, visitor), key),
    set: (value: string): Promise<Reply> => here.write('REST', disposition(value, conversation), fresh()),
    inChatwoot: async (text: string) =>
      (await here.desk.sql`SELECT 1 FROM notes WHERE starts_with(content, ${text})`).length,
    connections: async () =>
      (await here.desk.sql`SELECT 1 FROM pg_stat_activity WHERE application_name = 'gateway-write-back'`).length,
  };
}
afterEach(async () => {
  vi.unstubAllEnvs();
  await world?.close();
  world = undefined;
});

test('a thread that ends leaves an unknown outcome, the next write starts another, and the starts have a bound', async () => {
  const { add, inChatwoot, reconcile, status, logged, source } = await opened({ writer: { entry } });
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
}, 90_000);

test('an error of a call crosses without the token, and ends no thread', async () => {
  const { add, logged } = await opened({ writer: { entry } });
  for (let i = 0; i < 6; i++) expect((await add(`Planted before tell ${i}`)).code).toBe('outcome_unknown');
  expect((await add('Of the same thread')).status).toBe(200);
  const told = inspect(logged, { depth: null });
  expect(told).toContain('with postgres:');
  expect(told).not.toContain(TOKEN);
}, 60_000);

test('calls under way end with their thread, and calls that wait get the next thread', async () => {
  const { add, api, inChatwoot } = await opened({ writer: { entry } });
  expect((await add('First')).status).toBe(200);
  api.fail('POST', '/notes', { kind: 'slow', ms: 700 }, 3);
  const slow = [1, 2, 3].map((i) => add(`Slow ${i}`));
  await expect.poll(() => api.load.now).toBe(3);
  const ended = await add('Planted before exit');
  const codes = (await Promise.all(slow)).map(({ code }) => code);
  expect([ended.code, ...codes]).toEqual(Array.from({ length: 4 }, () => 'outcome_unknown'));
  expect((await add('Next')).status).toBe(200);
  await expect.poll(async () => (await inChatwoot('Slow')) > 0 || api.load.now === 0).toBe(true);
}, 60_000);

test('the start of a thread takes no time from a write', async () => {
  vi.stubEnv('PLANTED_START', '1000');
  // A write takes at most 1.5 s in the helpdesk in these tests.
  const { add, api } = await opened({ writer: { entry } });
  api.fail('POST', '/notes', { kind: 'slow', ms: 700 });
  const began = performance.now();
  const replies = await Promise.all(['One', 'Two', 'Three', 'Four', 'Five', 'Six'].map((text) => add(text)));
  expect(performance.now() - began).toBeGreaterThan(1_000);
  expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 200));
}, 60_000);

test('a write whose thread does not start in time is refused, and a later one succeeds with the same key', async () => {
  vi.stubEnv('PLANTED_START', '5000');
  const { add, api } = await opened({ writer: { entry } });
  const [key, began] = [fresh(), performance.now()];
  expect((await add('Too early', key)).code).toBe('native_unavailable');
  const took = performance.now() - began;
  expect([took > 2_500, took < ANSWERED]).toEqual([true, true]);
  expect(api.asked.filter((line) => line.startsWith('POST'))).toEqual([]);
  await expect.poll(async () => (await add('Too early', key)).status, { timeout: 20_000 }).toBe(200);
}, 60_000);

test('an idle thread is closed with its connection, and the next write starts another', async () => {
  const { set, connections } = await opened({ writer: { idle: 1_000 } });
  expect((await set('solved')).status).toBe(200);
  expect(await connections()).toBe(1);
  await pause(500);
  expect(await connections()).toBe(1);
  await expect.poll(connections, { timeout: 10_000 }).toBe(0);
  expect((await set('refund')).status).toBe(200);
}, 60_000);
