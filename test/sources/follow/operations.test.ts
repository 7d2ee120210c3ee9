import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { askComparison } from '../../../src/store/administration/sources.ts';
import { openProbe } from '../../support/chatwoot/lag.ts';
import { operate, rowsStored, rowsThere } from '../../support/chatwoot/operations.ts';
import { message, seed } from '../../support/chatwoot/source-rows.ts';
import { chatwootWorld } from '../../support/chatwoot/source-world.ts';
import { freshDatabase } from '../../support/database.ts';
import { LONG, times } from '../../support/form.ts';
import { type AddedSource, addSource, runSources } from '../../support/sources.ts';

/**
 * The long form has 8,700 operations at a period of 2 s, while other organizations of the same gateway poll and are compared
 * again and again: TEST_FORM=long npx vitest run test/sources/follow/operations.test.ts
 */
const SEED = Number(process.env['SOURCES_SEED'] ?? 1);
const OPERATIONS = Number(process.env['SOURCES_OPERATIONS'] ?? times(200, 8_700));
const RATE = Number(process.env['SOURCES_RATE'] ?? 60);
const PERIOD = 2;
/** The number of other sources. */
const BESIDE = Number(process.env['SOURCES_BESIDE'] ?? times(0, 3));
/**
 * The number of operations before the source is added. Into an empty store the lag is larger, because its own statistics
 * are old at first.
 */
const BEFORE = Number(process.env['SOURCES_BEFORE'] ?? times(0, 1_000));
/** Milliseconds after the last operation. Then nothing may be absent. */
const PATIENCE = times(10_000, 30_000);
/** The largest lag of 99 of 100 messages, in milliseconds. */
const LAG = LONG && BESIDE === 0 && BEFORE > 0 ? 2_000 * PERIOD + 1_000 : times(10_000, 12_000);
/** Milliseconds between two questions for a comparison of another source. */
const COMPARED = 5_000;

const kindOf = (id: string): string => id.split(':')[2] ?? '';
const count = (ids: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const id of ids) counts[kindOf(id)] = (counts[kindOf(id)] ?? 0) + 1;
  return counts;
};

test(`polling misses none of ${OPERATIONS} random operations, whatever their time stamps say`, async () => {
  const store = await freshDatabase();
  const desk = await chatwootWorld();
  await desk.grant('poll');
  await seed(desk.sql);
  await message(desk.sql, 1);
  await operate(desk, { seed: SEED + 1, count: BEFORE, rate: BEFORE });
  const add = (organization: string, period: number): Promise<AddedSource> =>
    addSource(store, { address: desk.address(), mode: 'poll', organization, period });
  const source = await add('A', PERIOD);
  const others = await Promise.all(Array.from({ length: BESIDE }, (_, n) => add(`beside ${n}`, 1)));
  const gateway = runSources(store);
  const ended = new AbortController();
  try {
    for (const one of [source, ...others]) await expect.poll(async () => (await one.state()).state).toBe('following');
    const beside = (async () => {
      for (; others.length > 0 && !ended.signal.aborted; await pause(COMPARED, undefined, { signal: ended.signal }))
        for (const { id } of others) await askComparison(store.db, id);
    })().catch(() => undefined);
    const probe = openProbe(store.sql, new Map([[1, source.tenant]]), LONG ? 20 : 3);
    const began = performance.now();
    const kinds = await operate(desk, { seed: SEED, count: OPERATIONS, rate: RATE, committed: probe.committed });
    const took = performance.now() - began;
    ended.abort();
    const there = await rowsThere(desk.sql);
    const find = async (): Promise<{ absent: string[]; stale: string[] }> => {
      const here = await rowsStored(store.sql, source.tenant);
      const absent = [...there.keys()].filter((id) => !here.has(id));
      return { absent, stale: [...there].flatMap(([id, text]) => (here.has(id) && here.get(id) !== text ? [id] : [])) };
    };
    const end = performance.now() + PATIENCE;
    let found = await find();
    for (; performance.now() < end && found.absent.length + found.stale.length > 0; found = await find())
      await pause(100);
    const rested = performance.now() - (end - PATIENCE);
    await beside;
    const lag = await probe.stop(0);
    const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
    console.info(
      `seed ${SEED}: ${OPERATIONS} operations in ${seconds(took)} beside ${BESIDE} sources, ${JSON.stringify(kinds)}; ` +
        `${there.size} rows, absent after ${seconds(rested)}: ${JSON.stringify(count(found.absent))}, stale ${found.stale.length}; ` +
        `lag p50 ${lag.p50}, p99 ${lag.p99}, max ${lag.max} ms of ${lag.seen} messages`,
    );
    expect(found).toEqual({ absent: [], stale: [] });
    expect(there.size).toBeGreaterThan(OPERATIONS + BEFORE);
    expect((await source.state()).rejects).toBe(0);
    expect(lag.seen).toBeGreaterThan(OPERATIONS / 40);
    expect(lag.p99).toBeLessThan(LAG);
  } finally {
    ended.abort();
    await gateway.stop();
    await store.close();
    await desk.close();
  }
}, 600_000);
