import { afterEach, beforeEach, expect, it } from 'vitest';
import { explainSource } from '../../../src/sources/follow/explain.ts';
import { startSources } from '../../../src/sources/follow/runner.ts';
import { PositionLost, type Source } from '../../../src/sources/source.ts';
import { deleteSource, deleteWebsite, forgetRemoved, markRemoved } from '../../../src/store/administration/removal.ts';
import { pauseSource } from '../../../src/store/administration/sources.ts';
import { message, seed } from '../../support/chatwoot/source-rows.ts';
import { type ChatwootWorld, chatwootWorld } from '../../support/chatwoot/source-world.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { itInFull, rowsOnce, itOnce as test } from '../../support/form.ts';
import { addSource, openStored } from '../../support/sources.ts';

let store: TestDatabase;
let desk: ChatwootWorld;
let gateway: { stop(): Promise<void> } | undefined;
beforeEach(async () => {
  store = await freshDatabase();
  desk = await chatwootWorld();
  await desk.grant('live');
  await seed(desk.sql);
  for (const id of [1, 2, 3]) await message(desk.sql, id, { content: `text ${id}` });
});
afterEach(async () => {
  await gateway?.stop();
  await store.close();
  await desk.close();
});

function barrier(): { readonly opened: Promise<void>; open(): void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** Runs the sources as a gateway does. `wrap` stands between the gateway and the helpdesk. */
function run(wrap: (source: Source) => Partial<Source> = () => ({})): void {
  const running = startSources({
    db: store.db,
    writer: store.db,
    open: (row) => {
      const source = openStored(row);
      return { ...source, ...wrap(source) };
    },
    explain: explainSource,
    onError: () => undefined,
  });
  gateway = running;
}
const add = () => addSource(store, { address: desk.address(), mode: 'live' });
const texts = async () => (await store.sql`SELECT text FROM platform.message ORDER BY id`).map(({ text }) => text);
const soon = { interval: 100 };

test('after changes were lost, the comparison stays owed until it has ended', async () => {
  const source = await add();
  let lost = 0;
  let loads = 0;
  run((real) => ({
    changes: async (after) => {
      if (lost++ === 0) {
        await desk.sql`DELETE FROM messages WHERE id = 2`;
        throw new PositionLost('lost');
      }
      return real.changes(after);
    },
    load: async (after) => {
      // The first load works, and the comparison is cut off once.
      if (after === null && ++loads === 2) throw new Error('cut off');
      return real.load(after);
    },
  }));
  await expect.poll(texts, soon).toEqual(['text 1', 'text 3']);
  expect(loads).toBeGreaterThan(2);
  expect(await source.state()).toMatchObject({ state: 'following' });
});

itInFull('a comparison that was cut off brings back no older row', async () => {
  const source = await add();
  let cut = false;
  run((real) => ({
    missing: async (of, ids) => {
      if (of === 'message' && ids.length === 3 && !cut) {
        cut = true;
        // The comparison has read the rows. Now they change, and the gateway dies.
        await desk.sql`UPDATE messages SET content_attributes = '{"deleted":true}' WHERE id = 1`;
        await desk.sql`DELETE FROM messages WHERE id = 2`;
        throw new Error('cut off');
      }
      return real.missing(of, ids);
    },
  }));
  await expect.poll(texts, soon).toHaveLength(3);
  await expect.poll(async () => (await source.state()).state, soon).toBe('following');
  await store.sql`UPDATE gateway.source SET compare_asked = now()`;
  await expect.poll(() => cut, soon).toBe(true);
  await expect.poll(texts, soon).toEqual([null, 'text 3']);
  const asked = async () =>
    (await store.sql`SELECT compared_at > compare_asked AS done FROM gateway.source`)[0]?.['done'];
  await expect.poll(asked, soon).toBe(true);
  expect(await texts()).toEqual([null, 'text 3']);
});

const ENDS = ['removed with its data', 'paused'] as const;
it.each(rowsOnce(ENDS, 1))('a source that is %s during its load writes nothing more', async (how) => {
  const source = await add();
  const [loading, gone] = [barrier(), barrier()];
  run((real) => ({
    missing: async (of, ids) => {
      loading.open();
      await gone.opened;
      return real.missing(of, ids);
    },
    load: async (after) => {
      const page = await real.load(after);
      if (page.after === null) {
        loading.open();
        await gone.opened;
      }
      return page;
    },
  }));
  await loading.opened;
  await pauseSource(store.db, source.id, true);
  if (how !== 'paused') {
    await markRemoved(store.db, source.id);
    expect(await deleteWebsite(store.db, source.id, Number.POSITIVE_INFINITY)).toBe(true);
  }
  gone.open();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(await texts()).toEqual([]);
  const websites = await store.sql`SELECT FROM platform.website`;
  expect(websites).toHaveLength(how === 'paused' ? 1 : 0);
  // A paused load continues with its staged records. Nothing of a removed source stays staged.
  const staged = async (): Promise<number> => {
    await forgetRemoved(store.db);
    const [row] = await store.sql<{ count: number }[]>`SELECT (SELECT count(*) FROM gateway.import_stage_1)::integer
        + (SELECT count(*) FROM gateway.import_stage_2)::integer AS count`;
    return row?.count ?? 0;
  };
  if (how === 'paused') expect(await staged()).toBeGreaterThan(0);
  else await expect.poll(staged, soon).toBe(0);
});

itInFull('a source that is added again loses what Chatwoot has deleted meanwhile', async () => {
  const first = await add();
  run();
  await expect.poll(texts, soon).toHaveLength(3);
  await gateway?.stop();
  await deleteSource(store.db, first.id);
  await desk.sql`DELETE FROM messages WHERE id = 2`;
  await add();
  run();
  await expect.poll(texts, soon).toEqual(['text 1', 'text 3']);
});

itInFull('a count that fails does not repeat the load', async () => {
  const source = await add();
  let counted = 0;
  run(() => ({ unmapped: () => Promise.reject(new Error(`timeout ${++counted}`)) }));
  await expect.poll(async () => (await source.state()).state, soon).toBe('following');
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(counted).toBe(1);
});

test('a website that somebody deleted is loaded again, and the source names the new one', async () => {
  const source = await add();
  run();
  await expect.poll(texts, soon).toHaveLength(3);
  await store.sql`DELETE FROM platform.website`;
  await expect.poll(texts, soon).toHaveLength(3);
  await expect.poll(async () => (await source.state()).website_id, soon).toBe('web_1_2');
});

test('a row that waits for another row is tried less and less often', async () => {
  const { id } = await add();
  const reject = JSON.stringify([{ origin: 'messages/9', pointer: '/conversation', code: 'unknown_reference' }]);
  const waits: number[] = [];
  for (let i = 0; i < 14; i++) {
    await store.sql`SELECT gateway.source_rejects(${id}, '{messages/9}', ${reject}::text::jsonb)`;
    const [row] =
      await store.sql`SELECT extract(epoch FROM retry_at - now())::float8 AS wait FROM gateway.source_reject`;
    waits.push(Math.round(Number(row?.['wait'])));
  }
  expect(waits.slice(0, 5)).toEqual([1, 2, 4, 8, 16]);
  expect(waits.at(-1)).toBe(3600);
  await store.sql`SELECT gateway.source_rejects(${id}, '{messages/9}', '[]')`;
  expect(await store.sql`SELECT FROM gateway.source_reject`).toEqual([]);
});
