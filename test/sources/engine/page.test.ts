import { afterEach, beforeEach, expect, test } from 'vitest';
import { newId } from '../../../src/auth/issue.ts';
import { apply } from '../../../src/sources/engine/apply.ts';
import { type HeldSource, writePage } from '../../../src/sources/engine/page.ts';
import { SourceLost, takeRun } from '../../../src/sources/engine/run.ts';
import { Stage } from '../../../src/sources/engine/stage.ts';
import { importRecords } from '../../../src/sources/files/import.ts';
import { beganComparison, failed } from '../../../src/sources/follow/state.ts';
import type { Change } from '../../../src/sources/source.ts';
import { insertSource, takeOrganization } from '../../../src/store/administration/sources.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { receipts } from '../../support/events/journal.ts';
import { desk } from '../../support/import.ts';

let store: TestDatabase;
let held: HeldSource;
beforeEach(async () => {
  store = await freshDatabase();
  held = await source('acme');
  await told([{ type: 'website', external_id: 'w', organization: 'acme', name: 'Acme', time_zone: 'UTC' }]);
});
afterEach(() => store.close());

async function source(organization: string): Promise<HeldSource> {
  const { tenant } = await takeOrganization(store.db, { external_id: organization, name: organization });
  const id = newId('src');
  const settings = {
    kind: 'chatwoot',
    account: '1',
    mode: 'live',
    period: 15,
    timeZone: 'UTC',
    storage: null,
  } as const;
  await insertSource(store.db, { ...settings, id, tenant, address: 'x', apiUrl: null, apiToken: null }, 600);
  return { id, tenant: Number(tenant), epoch: 0 };
}

type Record = Readonly<{ type: string; external_id: string } & { [member: string]: unknown }>;
const change = (record: Record): Change => ({ from: `${record.type}/${record.external_id}`, record });
const told = (records: readonly Record[], more: readonly Change[] = []) =>
  writePage(store.db, held, [...records.map(change), ...more], { n: 1 });

const at = '2026-11-01T10:00:00Z';
const contact = (external_id: string): Record => ({
  type: 'contact',
  external_id,
  website: 'w',
  name: 'A',
  created_at: at,
});
const visitor = (external_id: string, contacts: string[]): Record => ({
  ...{ type: 'visitor', external_id, website: 'w', contacts, created_at: at },
});
const conversation = (external_id: string, from: string, contacts: string[] = []): Record => ({
  ...{ type: 'conversation', external_id, website: 'w', visitor: from, contacts, status: 'unassigned' },
  ...{ platform: 'chat', created_at: at, updated_at: at },
});
const message = (external_id: string, of: string, text = 'Hello'): Record => ({
  ...{ type: 'message', external_id, conversation: of, author_type: 'visitor', visibility: 'public', kind: 'text' },
  ...{ text, created_at: at },
});
const gone = (of: 'contact' | 'conversation' | 'message' | 'visitor', external_id: string): Change => ({
  from: `${of}/${external_id}`,
  gone: { of, external_id },
});
const rejects = () => store.sql`SELECT origin, pointer, code FROM gateway.source_reject ORDER BY 1, 2, 3`;
const position = async () =>
  (await store.sql`SELECT position FROM gateway.source WHERE id = ${held.id}`)[0]?.['position'];

test('a page in any order of types is written with its position, and a second time nothing changes', async () => {
  const page = [message('m', 'c'), conversation('c', 'v', ['p']), visitor('v', ['p']), contact('p')];
  expect(await told(page)).toEqual({ written: 4, unchanged: 0, removed: 0, rejected: 0, suppressed: 0 });
  expect(await position()).toEqual({ n: 1 });
  expect(await told(page)).toEqual({ written: 0, unchanged: 4, removed: 0, rejected: 0, suppressed: 0 });
  expect(await store.sql`SELECT message_count FROM platform.conversation`).toEqual([{ message_count: 1 }]);
});

test('receipts say changed and removed, never snapshot, and come with the data', async () => {
  const before = new Map([
    ['1_1', Number((await store.sql`SELECT position FROM gateway.journal_head`)[0]?.['position'])],
  ]);
  await told([contact('p'), visitor('v', ['p']), conversation('c', 'v'), message('m', 'c')]);
  expect(await receipts(store.sql, before)).toEqual(['1_1 conversation.changed', '1_1 visitor.changed']);
  await told([], [gone('contact', 'p'), gone('conversation', 'c')]);
  const all = await receipts(store.sql, before);
  expect(all).toEqual(
    expect.arrayContaining(['1_1 conversation.removed', '1_1 visitor.removed', '1_1 privacy.removed']),
  );
  expect(all.join()).not.toContain('snapshot');
  expect(await store.sql`SELECT FROM gateway.import_owed`).toEqual([]);
});

test('a merge moves the records first: the removal of the merged contact takes nothing along', async () => {
  await told([contact('a'), contact('b'), visitor('v', ['b']), conversation('c', 'v', ['b']), message('m', 'c')]);
  await told([visitor('v', ['a']), conversation('c', 'v', ['a'])], [gone('contact', 'b')]);
  expect(await store.sql`SELECT external_id FROM platform.contact`).toEqual([{ external_id: 'a' }]);
  const [links] = await store.sql`SELECT (SELECT count(*)::integer FROM platform.visitor_contact) AS visitors,
    (SELECT count(*)::integer FROM platform.conversation_contact) AS conversations, (SELECT count(*)::integer FROM platform.message) AS messages`;
  expect(links).toEqual({ visitors: 1, conversations: 1, messages: 1 });
  // A visitor of a merge is told with the conversation that has moved to another visitor.
  await told([visitor('w', ['a']), conversation('c', 'w', ['a'])], [gone('visitor', 'v')]);
  const [moved] =
    await store.sql`SELECT v.external_id FROM platform.conversation c JOIN platform.visitor v ON v.id = c.visitor_id`;
  expect(moved).toEqual({ external_id: 'w' });
  // A message that moves keeps its id. If the conversation went first, the message would go along and come back as a new one.
  const idOf = () => store.sql`SELECT id FROM platform.message WHERE external_id = 'm'`;
  const before = await idOf();
  await told([conversation('d', 'w', ['a']), message('m', 'd')], [gone('conversation', 'c')]);
  expect(before).toHaveLength(1);
  expect(await idOf()).toEqual(before);
});

test('a page that is too large for one transaction is written in parts: references first, removals last', async () => {
  await told([contact('b'), visitor('v', ['b']), conversation('c', 'v'), message('m', 'c')]);
  // One row with many records.
  const note = (external_id: string, of: string): Change => ({
    from: 'notes/1',
    record: { type: 'note', external_id, visitor: of, text: 'y'.repeat(190_000), created_at: at },
  });
  const notes = Array.from({ length: 45 }, (_, i) => note(`n:${i}`, 'w'));
  const page = [message('m', 'd'), conversation('d', 'w'), visitor('w', ['a']), contact('a')].map(change);
  const removals = [gone('conversation', 'c'), gone('contact', 'b')];
  const all = [note('n:bad', 'none'), ...removals, ...notes, ...page];
  const outcome = await writePage(store.db, held, all, { n: 2 });
  expect(outcome).toEqual({ written: 49, unchanged: 0, removed: 2, rejected: 1, suppressed: 0 });
  // The reject is in the first part. No part forgets it, so the row is tried less and less often.
  const tries = async () => (await store.sql`SELECT tries FROM gateway.source_reject`)[0]?.['tries'];
  const before = await tries();
  expect(await writePage(store.db, held, all, null)).toMatchObject({ written: 0, rejected: 1 });
  expect(await tries()).toBeGreaterThan(before);
  expect(await rejects()).toEqual([{ origin: 'notes/1', pointer: '/visitor', code: 'unknown_reference' }]);
  expect(await position()).toEqual({ n: 2 });
  const stored = await store.sql`SELECT external_id, message_count FROM platform.conversation`;
  expect(stored).toEqual([{ external_id: 'd', message_count: 1 }]);
});

test('of a record that a row tells twice, the last telling counts', async () => {
  await told([contact('a'), visitor('v', ['a'])]);
  const note = (external_id: string, text: string): Change => ({
    from: 'notes/1',
    record: { type: 'note', external_id, visitor: 'v', text, created_at: at },
  });
  const outcome = await writePage(store.db, held, [note('one', 'old'), note('one', 'new'), note('two', 'new')], null);
  expect(outcome).toEqual({ written: 2, unchanged: 0, removed: 0, rejected: 0, suppressed: 0 });
  expect(await store.sql`SELECT text FROM platform.note`).toEqual([{ text: 'new' }, { text: 'new' }]);
});

test('what only the gateway knows is kept: the disposition, and its own notes', async () => {
  await told([contact('p'), visitor('v', ['p']), conversation('c', 'v')]);
  await store.sql`UPDATE platform.conversation SET disposition = 'sold'`;
  await store.sql`INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at)
    SELECT tenant, site, 1000, 'op_1', id, 'own', now() FROM platform.visitor`;
  const note = (id: string): Record => ({
    type: 'note',
    external_id: `cw:1:note:${id}:1`,
    visitor: 'v',
    text: id,
    created_at: at,
  });
  await told([note('1'), note('2'), { ...conversation('c', 'v'), status: 'closed' }]);
  const only = (of: Partial<{ prefix: string; owner: string }>, keep: string[]): Change => ({
    ...{ from: 'x', only: { of: 'note', prefix: 'cw:1:note:', ...of }, keep },
  });
  await told([], [only({ owner: 'v' }, ['cw:1:note:2:1'])]);
  const texts = () => store.sql`SELECT text FROM platform.note ORDER BY text`;
  expect(await texts()).toEqual([{ text: '2' }, { text: 'own' }]);
  await told([], [only({ prefix: 'cw:1:note:2:' }, [])]);
  expect(await texts()).toEqual([{ text: 'own' }]);
  expect(await store.sql`SELECT status, disposition FROM platform.conversation`).toEqual([
    { status: 'closed', disposition: 'sold' },
  ]);
});

test('a row that cannot be taken is a reject, the others are written, and a later success clears it', async () => {
  await told([contact('p'), { ...contact('q'), name: 'x'.repeat(300) }, message('m', 'nowhere')]);
  expect(await rejects()).toEqual([
    { origin: 'contact/q', pointer: '/name', code: 'too_long' },
    { origin: 'message/m', pointer: '/conversation', code: 'unknown_reference' },
  ]);
  await told([contact('q'), visitor('v', []), conversation('nowhere', 'v'), message('m', 'nowhere')]);
  expect(await rejects()).toEqual([]);
});

test('when PostgreSQL refuses one row of a page, only this row is left out', async () => {
  // The schema of the import would refuse this row too. The test removes its check from the way.
  await store.sql`ALTER TABLE platform.contact ADD CHECK (name <> 'bad')`;
  const contacts = Array.from({ length: 20 }, (_, i) => ({ ...contact(`p${i}`), name: i === 7 ? 'bad' : 'good' }));
  expect(await told(contacts)).toMatchObject({ written: 19, rejected: 1 });
  expect(await rejects()).toEqual([{ origin: 'contact/p7', pointer: '', code: 'unwritable' }]);
  expect(await position()).toEqual({ n: 1 });
});

test('a process that has lost its source writes nothing', async () => {
  await store.sql`UPDATE gateway.source SET epoch = 1`;
  await expect(told([contact('p')])).rejects.toThrow(SourceLost);
  expect(await store.sql`SELECT FROM platform.contact`).toEqual([]);
  await store.sql`UPDATE gateway.source SET epoch = 0, paused = true`;
  await expect(told([contact('p')])).rejects.toThrow(SourceLost);
});

test('two sources and imports of two organizations write side by side', async () => {
  const other = await source('other');
  const page = (n: number) => [
    contact(`p${n}`),
    visitor(`v${n}`, [`p${n}`]),
    conversation(`c${n}`, `v${n}`),
    message(`m${n}`, `c${n}`),
  ];
  const website = { type: 'website', external_id: 'w', organization: 'other', name: 'Other', time_zone: 'UTC' };
  await writePage(store.db, other, [change(website)], null);
  const pages = async (to: HeldSource) => {
    for (let n = 0; n < 10; n++) await writePage(store.db, to, page(n).map(change), null);
  };
  const renamed = desk(40).map((one) => (one.type === 'organization' ? { ...one, external_id: 'second' } : one));
  const second = renamed.map((one) => ('organization' in one ? { ...one, organization: 'second' } : one));
  const [, , one, two] = await Promise.all([
    pages(held),
    pages(other),
    importRecords(store.db, desk(40), { name: 'one' }),
    importRecords(store.db, second, { name: 'two' }),
  ]);
  expect([one.rejected, two.rejected]).toEqual([0, 0]);
  const counts =
    await store.sql`SELECT o.external_id, count(*)::integer AS n FROM platform.message m JOIN platform.organization o USING (tenant) GROUP BY 1 ORDER BY 1`;
  expect(counts.map(({ n }) => n)).toEqual([10, 80, 10, 80]);
});

test('a second import of files into the same organization waits for the first, a source does not', async () => {
  const first = await takeRun(store.db, { name: 'first' }, undefined);
  await first.begin([], undefined);
  await store.sql`UPDATE gateway.import_run SET names = '{org,acme}' WHERE slot = ${first.slot}`;
  let done = false;
  const second = importRecords(store.db, desk(5)).finally(() => {
    done = true;
  });
  expect(await told([contact('p')])).toMatchObject({ written: 1 });
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(done).toBe(false);
  await first.finish();
  await first.release();
  expect(await second).toMatchObject({ rejected: 0 });
});

test('imports of files and loads leave a slot to the content of files that a source brings', async () => {
  const files = await Promise.all(['one', 'two', 'three'].map((name) => takeRun(store.db, { name }, undefined)));
  const signal = AbortSignal.timeout(700);
  await expect(takeRun(store.db, { name: 'four' }, signal)).rejects.toThrow();
  const content = await takeRun(store.db, { name: 'content', source: held }, undefined);
  for (const run of [...files, content]) await run.release();
});

test('a load that reads a row again after a change takes the new version, and the old version is no reject', async () => {
  const run = await takeRun(store.db, { name: 'load', source: held, loads: true }, undefined);
  await run.begin([], 'acme');
  const stage = new Stage(store.db, run, 0);
  for (const name of ['old', 'new']) {
    stage.record({ file: 0, line: 1, origin: 'contacts/1' }, { ...contact('p'), name }, null);
    await stage.flush({ position: null });
  }
  await stage.settled();
  await apply(store.db, run, undefined, () => undefined);
  expect(await store.sql`SELECT name FROM platform.contact`).toEqual([{ name: 'new' }]);
  expect(await store.sql`SELECT code FROM ${store.sql(run.place.reject)}`).toEqual([]);
  await run.finish();
  await run.release();
});

test('a comparison that writes long after it has read does not undo a change that the gateway made meanwhile', async () => {
  await told([contact('p'), visitor('v', ['p']), conversation('c', 'v', ['p'])]);
  const run = await takeRun(store.db, { name: held.id, source: held, loads: true }, undefined);
  await run.begin([], 'acme');
  const stage = new Stage(store.db, run, 0);
  const [read, other] = [conversation('c', 'v', ['p']), conversation('d', 'v', ['p'])];
  for (const one of [read, other])
    stage.record({ file: 0, line: 1, origin: `conversations/${one.external_id}` }, one, null);
  await stage.flush({ position: null });
  await stage.settled();
  // The gateway closes the conversation in the helpdesk. The comparison read it 40 minutes ago, and writes it 30 minutes later.
  const operation = `op_${'a'.repeat(64)}`;
  await store.sql`INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status)
    VALUES (${operation}, 'crd', 1, ${held.tenant}, 1, 'conversation_status_set', 'acknowledged')`;
  await store.sql`INSERT INTO gateway.write_back (operation_id, source, tenant, site, record, target, author, at, seen_at)
    SELECT ${operation}, ${held.id}, tenant, site, id, external_id, 1, now() - interval '30 minutes', updated_at + interval '1 hour'
      FROM platform.conversation WHERE external_id = 'c'`;
  await store.sql`UPDATE platform.conversation SET status = 'closed', updated_at = updated_at + interval '1 hour' WHERE external_id = 'c'`;
  await store.sql`UPDATE gateway.import_run SET began = now() - interval '40 minutes' WHERE slot = ${run.slot}`;
  await apply(store.db, run, undefined, () => undefined);
  await run.finish();
  await run.release();
  expect(await store.sql`SELECT external_id, status FROM platform.conversation ORDER BY 1`).toEqual([
    { external_id: 'c', status: 'closed' },
    { external_id: 'd', status: 'unassigned' },
  ]);
});

test('a load that begins ends a single error, and an error that comes back stays visible', async () => {
  const shown = async () => (await store.sql`SELECT last_error FROM gateway.source`)[0]?.['last_error'];
  await failed(store.db, held, 'away');
  expect(await shown()).toBe('away');
  await beganComparison(store.db, held);
  expect(await shown()).toBeNull();
  await failed(store.db, held, 'away');
  await beganComparison(store.db, held);
  expect(await shown()).toBe('away');
});
