import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createChatwoot } from '../../support/chatwoot/populate.ts';
import { seed } from '../../support/chatwoot/source-rows.ts';
import { type ChatwootWorld, chatwootWorld } from '../../support/chatwoot/source-world.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { insertAll, recordAt } from '../../support/poison/as-rows.ts';
import { CORPUS } from '../../support/poison/corpus.ts';
import { culprits, NEIGHBOUR_MS, type Neighbour, openNeighbour, peakOf, told } from '../../support/poison/door.ts';
import { type Outcomes, outcomesOf, tableOf, unfollowed } from '../../support/poison/outcomes.ts';
import type { Poison } from '../../support/poison/poison.ts';
import { type AddedSource, addSource, runSources } from '../../support/sources.ts';

/** The memory of a gateway that follows two sources full of poison and serves meanwhile, in MB. */
const FOLLOWING_MB = 600;
/** The whole corpus is followed in so many milliseconds. It took 46 s on two cores with a load of 8. */
const PATIENCE = 240_000;

const ITEMS = CORPUS.filter((item) => recordAt(0, item) !== undefined);
const KEYS = { GATEWAY_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}` };

let neighbour: Neighbour;
let desk: ChatwootWorld;
beforeAll(async () => {
  neighbour = await openNeighbour(KEYS);
  desk = await openDesk();
});
afterAll(async () => {
  await neighbour.close();
  await desk.close();
});

async function openDesk(): Promise<ChatwootWorld> {
  const world = await chatwootWorld({ schema: false });
  await createChatwoot(world.sql);
  await seed(world.sql);
  await world.grant('live');
  return world;
}

const sourceOf = (database: Pick<TestDatabase, 'db'>, world: ChatwootWorld, mode: 'live' | 'poll') =>
  addSource(database, { address: world.address(), mode, organization: `poison ${mode}`, period: 1 });

async function followsBy(source: AddedSource, patience = 30_000): Promise<void> {
  await expect
    .poll(() => source.state(), { timeout: patience })
    .toMatchObject({ state: 'following', last_error: null });
}

/** Waits until every sentinel is in the organization. Returns the items whose sentinel stays away. */
async function settled(database: TestDatabase, tenant: number, items: readonly Poison[], patience: number) {
  for (const end = performance.now() + patience; ; await pause(200)) {
    const missing = await unfollowed(database.sql, tenant, items);
    if (missing.length === 0 || performance.now() > end) return missing;
  }
}

/** Follows some items with a store and a Chatwoot of their own. */
const passes =
  (mode: 'live' | 'poll') =>
  async (some: readonly Poison[]): Promise<boolean> => {
    const [database, world] = await Promise.all([freshDatabase(), openDesk()]);
    const source = await sourceOf(database, world, mode);
    const running = runSources(database);
    try {
      await followsBy(source);
      await insertAll(world.sql, some, CORPUS);
      return (await settled(database, source.tenant, some, 15_000 + 100 * some.length)).length === 0;
    } finally {
      await running.stop();
      await database.close();
      await world.close();
    }
  };

async function followed(source: AddedSource, impossible: ReadonlySet<Poison>): Promise<Outcomes> {
  const { sql } = neighbour.database;
  const rejects = await sql<{ origin: string; code: string }[]>`
    SELECT origin, code FROM gateway.source_reject WHERE source = ${source.id}`;
  const codes = new Map(rejects.map(({ origin, code }) => [origin, code]));
  return outcomesOf(sql, source.tenant, ITEMS, recordAt, (item) => {
    if (impossible.has(item)) return 'impossible';
    const code = codes.get(recordAt(CORPUS.indexOf(item), item)?.origin ?? '');
    return code === undefined ? undefined : `rejected ${code}`;
  });
}

/** The outcomes, when no item is on its way any more. A poll reads names of operators and teams after the messages. */
async function ended(source: AddedSource, impossible: ReadonlySet<Poison>): Promise<Outcomes> {
  for (const end = performance.now() + 30_000; ; await pause(1_000)) {
    const outcomes = await followed(source, impossible);
    if (![...outcomes.values()].includes('lost') || performance.now() > end) return outcomes;
  }
}

test('a Chatwoot of poison, live and polled: every next row arrives, no row is lost, and the neighbour is served', async () => {
  const { database, gateway } = neighbour;
  const sources = {
    live: await sourceOf(database, desk, 'live'),
    poll: await sourceOf(database, desk, 'poll'),
  };
  await Promise.all([followsBy(sources.live), followsBy(sources.poll)]);
  const impossible = await insertAll(desk.sql, ITEMS, CORPUS);
  const began = performance.now();
  const lost: string[] = [];
  for (const mode of ['live', 'poll'] as const) {
    const source = sources[mode];
    const missing = await settled(database, source.tenant, ITEMS, PATIENCE - (performance.now() - began));
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    const possible = ITEMS.filter((item) => !impossible.has(item));
    if (missing.length > 0)
      expect.fail(
        `${mode}: ${missing.length} sentinels are missing. At fault: ${await culprits(possible, passes(mode))}. The gateway says: ${(await source.state()).last_error}`,
      );
    const outcomes = await ended(source, impossible);
    console.info(tableOf(`following, ${mode}`, outcomes, { seconds }));
    for (const [{ name }, outcome] of outcomes) if (outcome === 'lost') lost.push(`${mode}: ${name}`);
  }
  const seen = neighbour.seen();
  const peak = peakOf(gateway.pid);
  console.info(`following: ${JSON.stringify({ 'peak MB of the gateway': Math.round(peak), ...told(seen) })}`);
  expect(lost).toEqual([]);
  for (const source of Object.values(sources))
    expect(await source.state()).toMatchObject({ state: 'following', last_error: null });
  expect(seen.failed).toBe(0);
  expect(seen.excess).toBeLessThan(NEIGHBOUR_MS);
  expect(seen.held).toBeLessThan(NEIGHBOUR_MS);
  expect(peak).toBeLessThan(FOLLOWING_MB);
}, 600_000);
