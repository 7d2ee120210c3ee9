import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../../src/core/sql.ts';
import { openDesk, recordsOf } from '../../../src/sources/chatwoot/desk.ts';
import { importFiles, importRecords, type Reject } from '../../../src/sources/files/import.ts';
import { askComparison } from '../../../src/store/administration/sources.ts';
import type { Database } from '../../../src/store/driver/postgres.ts';
import { message, seed } from '../../support/chatwoot/source-rows.ts';
import { type ChatwootWorld, chatwootWorld } from '../../support/chatwoot/source-world.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { itInFull, rowsOnce, itOnce as test } from '../../support/form.ts';
import { watchProcess } from '../../support/hostile/http-servers.ts';
import { desk as lines, ndjson, temporary } from '../../support/import.ts';
import { addSource, runSources } from '../../support/sources.ts';

const folder = temporary();
afterAll(() => rmSync(folder, { recursive: true }));
let store: TestDatabase;
let desk: ChatwootWorld;
let gateway: { readonly errors: unknown[]; stop(): Promise<void> } | undefined;
beforeEach(async () => {
  store = await freshDatabase();
  desk = await chatwootWorld();
});
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
  await store.close();
  await desk.close();
});

const DEEP = '<b>'.repeat(3_000);
/** 60 KB that became 19.2 MB of text in 17 s. */
const QUOTED = `${'<blockquote>'.repeat(1_000)}${'line<br>'.repeat(6_000)}`;
const email = (content: string) => ({ content_type: 8, content, updated_at: new Date().toISOString() });
const soon = { interval: 100 };
const stored = async () =>
  (await store.sql`SELECT left(trim(text), 20) AS text FROM platform.message ORDER BY created_at, id`).map(
    ({ text }) => text,
  );

const MODES = ['poll', 'live'] as const;
describe.each(rowsOnce(MODES, 1))('in mode %s', (mode) => {
  it('e-mails with 3,000 nested elements and 1,000 quotes are written by a load, by a page and by a comparison', async () => {
    await desk.grant(mode);
    await seed(desk.sql);
    await message(desk.sql, 1, email(`${DEEP}first`));
    await message(desk.sql, 2, email(QUOTED));
    await message(desk.sql, 3, email('<p>loaded</p>'));
    const source = await addSource(store, { address: desk.address(), mode });
    gateway = runSources(store);
    const loadedTexts = ['first', '> > > > > > > > > > ', 'loaded'];
    await expect.poll(stored, soon).toEqual(loadedTexts);
    await message(desk.sql, 4, email(`${DEEP}second`));
    await message(desk.sql, 5, email(QUOTED));
    await message(desk.sql, 6, email('<p>told</p>'));
    const all = [...loadedTexts, 'second', '> > > > > > > > > > ', 'told'];
    await expect.poll(stored, soon).toEqual(all);
    const asked = await askComparison(store.db, source.id);
    await expect.poll(async () => Number((await source.state()).compared_at) >= Number(asked), soon).toBe(true);
    expect(await stored()).toEqual(all);
    expect(gateway.errors).toEqual([]);
    expect(await source.state()).toMatchObject({ rejects: 0, last_error: null });
  });
});

itInFull('a load and a page of 8 MB go to the store in statements of at most 2 MiB', async () => {
  await desk.grant('live');
  await seed(desk.sql);
  // A quotation mark takes two characters of JSON.
  const text = '"'.repeat(100_000);
  const write = () => desk.sql`INSERT INTO messages
      (id, account_id, inbox_id, conversation_id, message_type, content, created_at, updated_at)
    SELECT coalesce((SELECT max(id) FROM messages), 0) + n, 1, 1, 1, 0, ${text}::text, now(), now()
      FROM generate_series(1, 80) n`;
  const count = async () => Number((await store.sql`SELECT count(*) FROM platform.message`)[0]?.['count']);
  await write();
  await addSource(store, { address: desk.address(), mode: 'live' });
  const lengths: number[] = [];
  const query: Database['query'] = (statement) => {
    lengths.push(statement.values.flat().reduce<number>((sum, value) => sum + String(value).length, 0));
    return store.db.query(statement);
  };
  const held: number[] = [];
  for (const all of [80, 160]) {
    const watched = watchProcess();
    gateway ??= runSources({ db: { ...store.db, query } });
    if (all > 80) await write();
    await expect.poll(count, soon).toBe(all);
    held.push(watched().held);
  }
  expect(Math.max(...lengths)).toBeLessThan(2 * 1024 * 1024);
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBeGreaterThan(32_000_000);
  // What one statement with all texts takes is the measure, so that a slow machine has a larger bound.
  const watched = watchProcess();
  await store.db.query(sql`SELECT length(${JSON.stringify(Array(80).fill({ text }))}::text)`);
  const whole = watched().held;
  console.info(`8 MB hold the serving thread: by a load ${held.join(' ms, by a page ')} ms, at once ${whole} ms`);
  expect(Math.max(...held)).toBeLessThan(whole);
});

test('an imported line with 3,000 nested elements is written, and the next line too', async () => {
  const path = join(folder, 'deep.ndjson');
  const html = (external_id: string, text: string) => ({
    ...{
      type: 'message',
      external_id,
      conversation: 'cnv0',
      author_type: 'visitor',
      visibility: 'public',
      kind: 'html',
    },
    ...{ text, created_at: '2026-11-01T10:00:00Z' },
  });
  writeFileSync(path, `${ndjson(lines(1))}${ndjson([html('deep', `${DEEP}first`), html('next', '<p>next</p>')])}`);
  const result = await importFiles(store.db, { files: [path] });
  expect(result).toMatchObject({ rejected: 0 });
  const rows =
    await store.sql`SELECT text FROM platform.message WHERE external_id IN ('deep', 'next') ORDER BY external_id`;
  expect(rows.map(({ text }) => text)).toEqual(['first', 'next']);
});

/** Milliseconds between two renewals of the lease of an import. A lease lasts ten seconds. */
const RENEWAL = 3_000;

itInFull('an import of the slowest lines renews its lease in time', async () => {
  const path = join(folder, 'slow.ndjson');
  const slow = [...Array(8).keys()].map((n) => ({
    ...{
      type: 'message',
      external_id: `slow${n}`,
      conversation: 'cnv0',
      author_type: 'visitor',
      visibility: 'public',
    },
    ...{ kind: 'html', text: '<p>l'.repeat(250_000), created_at: '2026-11-01T10:00:00Z' },
  }));
  writeFileSync(path, `${ndjson(lines(1))}${ndjson(slow)}`);
  const watched = watchProcess();
  const result = await importFiles(store.db, { files: [path] });
  const { held } = watched();
  console.info(`the longest time without a renewal: ${held} ms`);
  expect(result).toMatchObject({ rejected: 0 });
  // A renewal comes at most one such time late.
  expect(held).toBeLessThan(10_000 - RENEWAL);
});

/** A record that cannot be read at all. */
const broken = <Record extends object>(record: Record, member: string): Record =>
  Object.defineProperty({ ...record }, member, {
    enumerable: true,
    get: () => {
      throw new RangeError('Maximum call stack size exceeded');
    },
  });

test('a record whose reading throws becomes a reject with the code unreadable, and the next record is written', async () => {
  const [first, ...rest] = lines(1);
  const found: Reject[] = [];
  const contact = { type: 'contact', external_id: 'last', website: 'w0', created_at: '2026-11-01T10:00:00Z' };
  const records = [first, ...rest, broken({ ...contact, external_id: 'bad' }, 'name'), contact];
  const result = await importRecords(store.db, records, { onReject: (one) => found.push(one) });
  expect(found).toMatchObject([{ line: records.length - 1, pointer: '', code: 'unreadable' }]);
  expect(result).toMatchObject({ rejected: 1 });
  expect(await store.sql`SELECT 1 FROM platform.contact WHERE external_id = 'last'`).toHaveLength(1);
});

test('a row of the helpdesk whose mapping throws becomes a reject, and the rows around it are mapped', async () => {
  await desk.grant('poll');
  await seed(desk.sql);
  const rows = [1, 2, 3].map((id) => ({ id: String(id), content: 'text', conversation: '1', message_type: '0' }));
  const names = { account: 1, timeZone: 'UTC', organization: 'o', makesOrganization: true, storage: false };
  const world = await openDesk(store.db, names);
  const bad = rows.map((row, n) => (n === 1 ? broken(row, 'content') : row));
  const made = await recordsOf(world, 'messages', bad);
  expect([...made].map(([id, records]) => [id, records?.length])).toEqual([
    ['1', 1],
    ['2', undefined],
    ['3', 1],
  ]);
});
