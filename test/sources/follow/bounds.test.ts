import { setTimeout as pause } from 'node:timers/promises';
import { type TestContext, test } from 'vitest';
import { SourceLost, takeRun } from '../../../src/sources/engine/run.ts';
import type { LoadBounds } from '../../../src/sources/follow/spent.ts';
import { gaveUp, stopped } from '../../../src/sources/follow/state.ts';
import { askComparison, findingsOf, pauseSource } from '../../../src/store/administration/sources.ts';
import { lateSources } from '../../../src/store/doctor/doctor.ts';
import { type SlowWorld, slowWorld } from '../../support/chatwoot/slow-world.ts';
import { message } from '../../support/chatwoot/source-rows.ts';
import type { AddedSource } from '../../support/sources.ts';

/** Milliseconds of a slow answer. A load has more than twelve pages. On a busy machine, a quick answer takes 0.3 s. */
const ANSWER = 1_400;
/** Less than three answers in 3 s of waiting are too few. */
const RARE: LoadBounds = { window: 3, fewest: 3, total: 3_600 };
const SHORT: LoadBounds = { window: 3_600, fewest: 120, total: 8 };

interface World extends SlowWorld {
  readonly become: (source: AddedSource, state: string) => Promise<void>;
  readonly working: () => Promise<number>;
  readonly messages: (source: AddedSource) => Promise<number>;
}
// Each test has a world of its own, so that the tests can run at the same time. They mostly wait.
const open = async (bounds: LoadBounds, { expect, onTestFinished }: TestContext): Promise<World> => {
  const world = await slowWorld({ turn: 300, answer: ANSWER, bounds });
  onTestFinished(() => world.close());
  const { sql } = world.store;
  return {
    ...world,
    become: (source, state) => expect.poll(async () => (await source.state()).state, { interval: 50 }).toBe(state),
    working: async () => (await sql`SELECT FROM gateway.import_run WHERE loads AND lease_until > now()`).length,
    messages: async ({ tenant }) => (await sql`SELECT FROM platform.message WHERE tenant = ${tenant}`).length,
  };
};

test.concurrent.for([
  [
    'a helpdesk that answers too rarely',
    RARE,
    /^The helpdesk answered fewer than 3 times while the gateway waited 3 s for it\./,
  ],
  ['a load that takes too long', SHORT, /^Reading all records took longer than 8 s\./],
] as const)(
  '%s ends the first load, and the operator starts it again where it was',
  { timeout: 180_000 },
  async ([, bounds, why], context) => {
    const { expect } = context;
    const { add, asked, become, messages, slow, store, working } = await open(bounds, context);
    slow.add('A');
    const source = await add('A');
    const began = performance.now();
    await become(source, 'failing');
    console.info(`the load ended after ${(performance.now() - began).toFixed(0)} ms`);
    const { last_error, held } = await source.state();
    expect(last_error).toMatch(why);
    expect(last_error).toMatch(new RegExp(`Then run: gateway source resume ${source.id}$`));
    expect(held).toBe(false);
    expect(await working()).toBe(0);
    expect(await lateSources(store.db)).toBe(1);
    // Nobody starts it again, and others load.
    const pages = asked.get(source.id)?.length ?? 0;
    slow.clear();
    const other = await add('B');
    await become(other, 'following');
    expect(asked.get(source.id)).toHaveLength(pages);
    expect((await source.state()).state).toBe('failing');

    slow.add('A');
    // The next load has as much time as the first one. With half of the 8 s, it would ask three times.
    expect(await pauseSource(store.db, source.id, false)).toBe(true);
    await become(source, 'failing');
    const told = asked.get(source.id) ?? [];
    expect(told.length - pages).toBeGreaterThanOrEqual(bounds === SHORT ? 4 : 2);
    slow.clear();
    expect(await pauseSource(store.db, source.id, false)).toBe(true);
    await become(source, 'following');
    // Each stopped load had one open question. The next load asks this question again, and no earlier one. The store keeps the
    // members of a question in another order.
    const all = asked.get(source.id) ?? [];
    expect(all[pages]).toEqual(all[pages - 1]);
    expect(all[told.length]).toEqual(all[told.length - 1]);
    expect(new Set(all.map((after) => JSON.stringify(after, ['id', 'load']))).size).toBe(all.length - 2);
    expect(await messages(source)).toBe(3);
    expect(await lateSources(store.db)).toBe(0);
    expect(await pauseSource(store.db, source.id, false)).toBe(false);
  },
);

test.concurrent('a renewal of the lease that comes late does not take the place again', async (context) => {
  const { expect } = context;
  const { store } = await open(RARE, context);
  const { slot, epoch, release } = await takeRun(store.db, { name: 'an import' }, undefined);
  await release();
  await store.sql`SELECT gateway.import_beat(${slot}, ${epoch})`;
  expect(await store.sql`SELECT FROM gateway.import_run WHERE lease_until > now()`).toHaveLength(0);
});

test.concurrent('the time that a load waits for its place does not count', async (context) => {
  const { expect } = context;
  const { add, asked, become, slow, store } = await open(SHORT, context);
  slow.add('A');
  const source = await add('A');
  await expect.poll(() => asked.has(source.id), { interval: 20 }).toBe(true);
  const holders = await Promise.all(
    ['first', 'second', 'third'].map((name) => takeRun(store.db, { name: `${name} import` }, undefined)),
  );
  const pages = asked.get(source.id)?.length ?? 0;
  await pause(1_200 * SHORT.total);
  expect(asked.get(source.id)).toHaveLength(pages);
  expect((await source.state()).state).toBe('loading');
  slow.clear();
  for (const holder of holders) await holder.release();
  await become(source, 'following');
});

test.concurrent('a comparison that takes too long is given up and told, and the source is followed on', async (context) => {
  const { expect } = context;
  const { add, become, desk, messages, slow, store } = await open(RARE, context);
  const source = await add('A');
  await become(source, 'following');
  const about = async (): Promise<unknown> => findingsOf(await source.state()).map((one) => one.about);
  expect(await about()).not.toContain('comparison');
  slow.add('A');
  const asked = await askComparison(store.db, source.id);
  await expect.poll(about).toContain('comparison');
  const record = await source.state();
  // `source check` ends here and tells the finding.
  expect(Number(record.compared_at)).toBeGreaterThanOrEqual(Number(asked));
  expect(record.state).toBe('following');
  expect(findingsOf(record).find((one) => one.about === 'comparison')).toMatchObject({
    level: 'degraded',
    text: expect.stringMatching(new RegExp(`was given up.*Then run: gateway source check ${source.id}$`)),
  });
  expect(await lateSources(store.db)).toBe(1);
  await message(desk.sql, 4, { created_at: 'now', updated_at: 'now' });
  await expect.poll(() => messages(source)).toBe(4);

  slow.clear();
  await askComparison(store.db, source.id);
  await expect.poll(about).not.toContain('comparison');
  expect(await lateSources(store.db)).toBe(0);
});

/** Asks for a comparison that takes too long, as if it had begun 27 hours ago. */
async function compareForLong(
  { asked, slow, store }: World,
  source: AddedSource,
  { expect }: TestContext,
): Promise<void> {
  const pages = asked.get(source.id)?.length ?? 0;
  slow.add('A');
  await askComparison(store.db, source.id);
  await expect.poll(() => asked.get(source.id)?.length, { interval: 20 }).toBeGreaterThan(pages);
  await store.sql`UPDATE gateway.source SET compare_asked = now() - interval '28 hours', compare_began = now() - interval '27 hours'`;
}
const givenUp = (source: AddedSource, { expect }: TestContext): Promise<void> =>
  expect
    .poll(async () => (await source.state()).compare_error, { timeout: 60_000, interval: 20 })
    .toMatch(/^Reading all records took longer than 8 s\. The comparison was given up/);

test.concurrent('a comparison that took a day does not begin again at once, and the source is followed on', async (context) => {
  const { expect } = context;
  const world = await open(SHORT, context);
  const { add, asked, become, desk, messages } = world;
  const source = await add('A');
  await become(source, 'following');
  await compareForLong(world, source, context);
  await givenUp(source, context);
  const pages = asked.get(source.id)?.length;
  // A gateway looks each second whether a comparison is due.
  await pause(3_000);
  expect(asked.get(source.id)).toHaveLength(pages ?? 0);
  await message(desk.sql, 4, { created_at: 'now', updated_at: 'now' });
  await expect.poll(() => messages(source)).toBe(4);
  expect(asked.get(source.id)).toHaveLength(pages ?? 0);
});

test.concurrent('a comparison that somebody asks for while another one takes too long begins after that', async (context) => {
  const { expect } = context;
  const world = await open(SHORT, context);
  const { add, become, slow, store } = world;
  const source = await add('A');
  await become(source, 'following');
  await compareForLong(world, source, context);
  const asked = await askComparison(store.db, source.id);
  await givenUp(source, context);
  slow.clear();
  await expect
    .poll(async () => Number((await source.state()).compared_at) >= Number(asked), { timeout: 60_000 })
    .toBe(true);
  expect((await source.state()).compare_error).toBe(null);
});

test.concurrent('a comparison that begins anew after an interruption has all its time', async (context) => {
  const { expect } = context;
  const { add, asked, become, slow, start, stop, store } = await open({ ...SHORT, total: 60 }, context);
  const source = await add('A');
  await become(source, 'following');
  const pages = asked.get(source.id)?.length ?? 0;
  slow.add('A');
  const at = await askComparison(store.db, source.id);
  await expect.poll(() => asked.get(source.id)?.length, { interval: 20 }).toBeGreaterThan(pages + 1);
  await stop();
  // What comparisons took that other interruptions ended.
  expect(
    await store.sql`UPDATE gateway.import_run SET spent = '1 hour' WHERE subject = ${source.id} RETURNING slot`,
  ).toHaveLength(1);
  start();
  await expect
    .poll(
      async () => {
        const { compare_error, compared_at } = await source.state();
        return compare_error ?? Number(compared_at) >= Number(at);
      },
      { timeout: 80_000 },
    )
    .toBe(true);
});

test.concurrent('a gateway that has lost a source does not change how long the load of the next gateway may take', async (context) => {
  const { expect } = context;
  const { add, become, stop, store } = await open(SHORT, context);
  const source = await add('A');
  await become(source, 'following');
  await stop();
  const [row] = await store.sql`
    UPDATE gateway.source SET epoch = epoch + 1 WHERE id = ${source.id} RETURNING epoch::float8 AS epoch`;
  const held = (epoch: number) => ({ id: source.id, tenant: source.tenant, epoch });
  const spent = async (): Promise<unknown> =>
    (await store.sql`SELECT spent::text AS spent FROM gateway.import_run WHERE subject = ${source.id}`)[0]?.['spent'];
  await store.sql`UPDATE gateway.import_run SET spent = '1 hour' WHERE subject = ${source.id}`;
  const epoch = Number(row?.['epoch']);
  await stopped(store.db, held(epoch - 1), 'Late.');
  expect(await spent()).toBe('01:00:00');
  await expect(gaveUp(store.db, held(epoch - 1), 'Late.')).rejects.toBeInstanceOf(SourceLost);
  expect(await spent()).toBe('01:00:00');
  await gaveUp(store.db, held(epoch), 'In time.');
  expect(await spent()).toBe('00:00:00');
});
