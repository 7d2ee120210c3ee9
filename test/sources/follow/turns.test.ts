import { type TestContext, test } from 'vitest';
import { takeRun } from '../../../src/sources/engine/run.ts';
import { type SlowWorld, slowWorld } from '../../support/chatwoot/slow-world.ts';
import type { AddedSource } from '../../support/sources.ts';

/** Milliseconds of a turn in these tests, of each answer of a slow helpdesk, and of the wait of somebody else. */
const TURN = 300;
const SLOW = 2_000;
const BOUND = 5_000;

const state = async (source: AddedSource): Promise<string> => (await source.state()).state;

interface World extends SlowWorld {
  readonly loading: (count: number) => Promise<void>;
  /** Takes a slot for a load, as a gateway does. Undefined if none is free. */
  readonly take: (source: Pick<AddedSource, 'id'>, name: string) => Promise<unknown>;
  /** Gives the slot of a load back. An unfinished load keeps its records. */
  readonly park: (name: string, unfinished?: boolean) => Promise<unknown>;
  readonly slots: () => Promise<number>;
}
// Each test has a world of its own, so that the tests can run at the same time. They mostly wait.
const open = async ({ expect, onTestFinished }: TestContext): Promise<World> => {
  const world = await slowWorld({ turn: TURN, answer: SLOW });
  onTestFinished(() => world.close());
  const { sql } = world.store;
  const loads = async (): Promise<number> =>
    (await sql`SELECT 1 FROM gateway.import_run WHERE loads AND lease_until > now()`).length;
  return {
    ...world,
    loading: (count) => expect.poll(loads).toBe(count),
    take: async ({ id }, name) =>
      (await sql`SELECT slot FROM gateway.import_take(${name}, ${id}, 0, true)`)[0]?.['slot'],
    park: async (name, unfinished = true) =>
      sql`UPDATE gateway.import_run SET lease_until = '-infinity', backend = NULL, unfinished = ${unfinished},
        kept_until = clock_timestamp() + interval '2 minutes' WHERE subject = ${name}`,
    slots: async () => (await sql`SELECT FROM gateway.import_run`).length,
  };
};

test.concurrent('two helpdesks that answer slowly do not keep a third one from its load, and each page is asked once', async (context) => {
  const { expect } = context;
  const { add, asked, loading, slow, store } = await open(context);
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
});

test.concurrent('an import of files begins while two slow loads and another import hold the places', async (context) => {
  const { expect } = context;
  const { add, loading, slow, store } = await open(context);
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

test.concurrent('an organization that has not had a turn comes before the next source of one that has', async (context) => {
  const { expect } = context;
  const { add, stop, store, take } = await open(context);
  await stop();
  const [a, b, c] = [await add('A'), await add('B'), await add('C')];
  const free = async (name: string): Promise<unknown> =>
    store.sql`UPDATE gateway.import_run SET lease_until = '-infinity' WHERE subject = ${name}`;
  expect(await take(a, 'a1')).toBeDefined();
  expect(await take(b, 'b1')).toBeDefined();
  // The second load of A asks first. C has had no turn.
  expect(await take(a, 'a2')).toBeUndefined();
  expect(await take(c, 'c1')).toBeUndefined();
  await free('a1');
  expect(await take(a, 'a2')).toBeUndefined();
  expect(await take(c, 'c1')).toBeDefined();
  await free('b1');
  expect(await take(a, 'a2')).toBeDefined();
});

test.concurrent('loads that wait hold no place: ten slow loads of five organizations do not keep an eleventh from its load', async (context) => {
  const { expect } = context;
  const { add, asked, slow, start } = await open(context);
  start();
  const hogs: AddedSource[] = [];
  for (const name of ['A', 'B', 'D', 'E', 'F']) {
    slow.add(name);
    for (const account of [1, 2]) hogs.push(await add(name, account));
  }
  await expect.poll(() => hogs.filter(({ id }) => asked.has(id)).length).toBe(hogs.length);
  const began = performance.now();
  const eleventh = await add('C');
  await expect.poll(() => asked.has(eleventh.id), { timeout: 2 * BOUND, interval: 50 }).toBe(true);
  console.info(`the eleventh load began after ${(performance.now() - began).toFixed(0)} ms`);
  for (const hog of hogs) expect(await state(hog)).toBe('loading');
  await expect.poll(() => state(eleventh)).toBe('following');
});

test.concurrent('two waiting loads of each of four organizations keep their records, and a ninth load begins at once', async (context) => {
  const { expect } = context;
  const { add, park, stop, take } = await open(context);
  await stop();
  const taken = new Map<string, unknown>();
  const many = await Promise.all(['A', 'B', 'D', 'E'].map((name) => add(name)));
  const ninth = await add('C');
  // Sixteen loads need more slots than a new store has.
  for (const [n, source] of [...many, ...many, ...many, ...many].entries()) {
    const slot = await take(source, `load ${n}`);
    expect(slot).toBeDefined();
    taken.set(`load ${n}`, slot);
    await park(`load ${n}`);
  }
  expect(new Set(taken.values()).size).toBe(16);
  const began = await take(ninth, 'ninth load');
  expect(began).toBeDefined();
  expect([...taken.values()]).not.toContain(began);
  await park('ninth load');
  // Each of the others finds its own slot again.
  for (const [n, source] of [...many, ...many, ...many, ...many].entries()) {
    expect(await take(source, `load ${n}`)).toBe(taken.get(`load ${n}`));
    await park(`load ${n}`);
  }
});

test.concurrent('a store has at most 64 slots: a further load waits for a free one, and the loads with slots have their turns', async (context) => {
  const { expect } = context;
  const { add, park, slots, stop, take } = await open(context);
  await stop();
  const [hog, other] = [await add('A'), await add('C')];
  for (let n = 0; n < 64; n++) {
    expect(await take(hog, `load ${n}`)).toBeDefined();
    await park(`load ${n}`);
  }
  expect(await slots()).toBe(64);
  expect(await take(other, 'late 1')).toBeUndefined();
  expect(await take(other, 'late 2')).toBeUndefined();
  expect(await slots()).toBe(64);
  // They have asked first, and their organization has had no turn. But they have no slot.
  expect(await take(hog, 'load 1')).toBeDefined();
  expect(await take(hog, 'load 2')).toBeDefined();
  expect(await take(other, 'late 1')).toBeUndefined();
  await park('load 1', false);
  expect(await take(other, 'late 1')).toBeDefined();
});

test.concurrent('a free slot that another transaction has locked is not a reason for a further slot', async (context) => {
  const { expect } = context;
  const { add, slots, stop, store, take } = await open(context);
  await stop();
  const source = await add('A');
  const before = await slots();
  await store.sql.begin(async (locked) => {
    await locked`SELECT FROM gateway.import_run FOR UPDATE`;
    expect(await take(source, 'a load')).toBeUndefined();
  });
  expect(await take(source, 'a load')).toBeDefined();
  expect(await slots()).toBe(before);
});
