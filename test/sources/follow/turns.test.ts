import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeRun } from '../../../src/sources/engine/run.ts';
import { explainSource } from '../../../src/sources/follow/explain.ts';
import { startSources } from '../../../src/sources/follow/runner.ts';
import { message, seed } from '../../support/chatwoot/source-rows.ts';
import { type ChatwootWorld, chatwootWorld } from '../../support/chatwoot/source-world.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { type AddedSource, addSource, openStored } from '../../support/sources.ts';

/** Milliseconds of a turn in these tests, of each answer of a slow helpdesk, and of the wait of somebody else. */
const TURN = 300;
const SLOW = 2_000;
const BOUND = 5_000;

let store: TestDatabase;
let desk: ChatwootWorld;
let gateway: { stop(): Promise<void> };
/** The organizations whose helpdesk answers each page slowly, and the pages of each source. */
const slow = new Set<string>();
const asked = new Map<string, unknown[]>();

beforeEach(async () => {
  store = await freshDatabase();
  desk = await chatwootWorld();
  await desk.grant('poll');
  await seed(desk.sql);
  for (const id of [1, 2, 3]) await message(desk.sql, id);
  slow.clear();
  asked.clear();
  gateway = startSources({
    db: store.db,
    writer: store.db,
    turn: TURN,
    open: (row) => {
      const source = openStored(row);
      return {
        ...source,
        load: async (after) => {
          asked.set(row.id, [...(asked.get(row.id) ?? []), after]);
          if (slow.has(row.organization)) await pause(SLOW);
          return source.load(after);
        },
      };
    },
    explain: explainSource,
    onError: () => undefined,
  });
});
afterEach(async () => {
  await gateway.stop();
  await store.close();
  await desk.close();
});

const add = (organization: string): Promise<AddedSource> =>
  addSource(store, { address: desk.address(), mode: 'poll', organization });
const state = async (source: AddedSource): Promise<string> => (await source.state()).state;
const loading = async (count: number): Promise<void> => {
  await expect
    .poll(async () => (await store.sql`SELECT 1 FROM gateway.import_run WHERE loads AND lease_until > now()`).length, {
      timeout: 20_000,
    })
    .toBe(count);
};

test('two helpdesks that answer slowly do not keep a third one from its load, and each page is asked once', async () => {
  for (const name of ['A', 'B']) slow.add(name);
  const hogs = [await add('A'), await add('B')];
  await loading(2);
  const began = performance.now();
  const third = await add('C');
  await expect.poll(() => asked.has(third.id), { timeout: BOUND, interval: 50 }).toBe(true);
  console.info(`the third load began after ${(performance.now() - began).toFixed(0)} ms`);
  for (const hog of hogs) expect(await state(hog)).toBe('loading');
  for (const one of [third, ...hogs])
    await expect.poll(() => state(one), { timeout: 90_000, interval: 200 }).toBe('following');
  for (const hog of hogs) {
    const pages = asked.get(hog.id) ?? [];
    expect(pages).toEqual(asked.get(third.id));
  }
  expect(await store.sql`SELECT 1 FROM platform.message`).toHaveLength(9);
}, 120_000);

test('an import of files begins while two slow loads and another import hold the slots', async () => {
  for (const name of ['A', 'B']) slow.add(name);
  await add('A');
  await add('B');
  await loading(2);
  const first = await takeRun(store.db, { name: 'first import' }, undefined);
  const began = performance.now();
  const second = await takeRun(store.db, { name: 'second import' }, undefined);
  expect(performance.now() - began).toBeLessThan(BOUND);
  await second.release();
  await first.release();
});

test('an organization that has not had a turn comes before the next source of one that has', async () => {
  await gateway.stop();
  const sources = await Promise.all(['A', 'B', 'C'].map(add));
  const [a, b, c] = sources.map(({ id }) => ({ id, epoch: 0 }));
  if (!a || !b || !c) throw new Error('three sources were added');
  const taken = async (source: typeof a, name: string): Promise<readonly unknown[]> =>
    store.sql`SELECT slot FROM gateway.import_take(${name}, ${source.id}, 0, true)`;
  const free = async (name: string): Promise<unknown> =>
    store.sql`UPDATE gateway.import_run SET lease_until = '-infinity' WHERE subject = ${name}`;
  expect(await taken(a, 'a1')).toHaveLength(1);
  expect(await taken(b, 'b1')).toHaveLength(1);
  // The second load of A asks first. C has had no turn.
  expect(await taken(a, 'a2')).toHaveLength(0);
  expect(await taken(c, 'c1')).toHaveLength(0);
  await free('a1');
  expect(await taken(a, 'a2')).toHaveLength(0);
  expect(await taken(c, 'c1')).toHaveLength(1);
  await free('b1');
  expect(await taken(a, 'a2')).toHaveLength(1);
});

test('many loads of one organization leave slots to the first load of another, and none of them stops for good', async () => {
  await gateway.stop();
  const [many, other] = [await add('A'), await add('C')];
  const take = async (source: AddedSource, name: string): Promise<boolean> =>
    (await store.sql`SELECT slot FROM gateway.import_take(${name}, ${source.id}, 0, true)`).length === 1;
  const park = (name: string): Promise<unknown> =>
    store.sql`UPDATE gateway.import_run SET lease_until = '-infinity', unfinished = true,
      kept_until = clock_timestamp() + interval '2 minutes' WHERE subject = ${name}`;
  const names = Array.from({ length: 12 }, (_, n) => `load ${n}`);
  const kept: string[] = [];
  for (const name of names)
    if (await take(many, name)) {
      await park(name);
      kept.push(name);
    }
  console.info(`12 loads of one organization keep ${kept.length} slots`);
  expect(await take(other, 'first load')).toBe(true);
  await park('first load');
  // The loads that have no slot asked before, and wait still.
  for (const name of names.slice(kept.length)) expect(await take(many, name)).toBe(false);
  for (const name of kept) expect(await take(many, name)).toBe(true);
  expect(kept).toHaveLength(2);
});
