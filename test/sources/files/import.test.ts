import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { type ImportResult, importFiles, importRecords, type Reject } from '../../../src/sources/files/import.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { repeats, itOnce as test } from '../../support/form.ts';
import { content, desk, dump, ndjson, shuffled, temporary } from '../../support/import.ts';

const folder = temporary();
afterAll(() => rmSync(folder, { recursive: true }));

let store: TestDatabase;
beforeEach(async () => {
  store = await freshDatabase();
});
afterEach(() => store.close());

const load = (records: Iterable<unknown>): Promise<ImportResult> => importRecords(store.db, records);
const counts = ({ types: _, ...sums }: ImportResult) => sums;

async function rejected(records: Iterable<unknown>, organization?: string): Promise<string[]> {
  const found: Reject[] = [];
  await importRecords(store.db, records, {
    onReject: (one) => found.push(one),
    ...(organization ? { organization } : {}),
  });
  return found.map(({ line, pointer, code }) => `${line} ${pointer} ${code}`);
}

async function receipts(): Promise<string[]> {
  const rows = await store.sql<{ event: string }[]>`
    SELECT w.external_id || ' ' || j.event_type AS event FROM gateway.journal j
      LEFT JOIN platform.website w USING (tenant, site) ORDER BY 1`;
  await store.sql`DELETE FROM gateway.journal`;
  return rows.map(({ event }) => event);
}

const families = ['conversation', 'operator', 'queue', 'visitor', 'website'];
const snapshots = ['w0', 'w1'].flatMap((website) => families.map((family) => `${website} ${family}.snapshot`));

test('every type is written, counted and told to the journal once a website and family', async () => {
  const records = desk(20);
  const result = await load(records);
  expect(counts(result)).toEqual({
    read: records.length,
    written: records.length,
    unchanged: 0,
    removed: 0,
    rejected: 0,
    suppressed: 0,
  });
  expect(result.types.message).toEqual({ read: 40, written: 40, unchanged: 0, removed: 0, rejected: 0, suppressed: 0 });
  expect(await receipts()).toEqual(snapshots);
  const stored = await content(store.sql);
  expect(JSON.parse(stored['message']?.[0] ?? '')).toMatchObject({
    author_id: 'vis0',
    text: 'Hello 0',
    website: 'w0',
    attachment_count: 1,
  });
  expect(JSON.parse(stored['contact']?.[0] ?? '')).toMatchObject({
    mobile: '030 901820',
    mobile_e164: '+4930901820',
    phone_e164: null,
  });
  expect(JSON.parse(stored['saved_response']?.[0] ?? '')).toMatchObject({ language: 'en-US' });
  expect(JSON.parse(stored['ai_feature']?.[0] ?? '')).toMatchObject({ versions: [2, 3], active_version: 2 });
  expect(JSON.parse(stored['conversation']?.[0] ?? '')).toMatchObject({
    channel_id: 'c0',
    team_id: 't0',
    subsite_id: 's0',
    operator_id: 'ann',
    visitor_id: 'vis0',
    message_count: 2,
    ai_involved: true,
    response_seconds: 2,
  });
});

test('a second run finds everything unchanged, rewrites nothing and tells nothing', async () => {
  await load(desk(20));
  await receipts();
  const before = await dump(store.sql);
  const versions = () => store.sql`SELECT 'c' || id AS row, xmin::text FROM platform.conversation UNION ALL
    SELECT 'm' || id, xmin::text FROM platform.message UNION ALL SELECT 'o' || id, xmin::text FROM platform.operator UNION ALL
    SELECT 'f' || file_id, xmin::text FROM platform.file_chunk UNION ALL SELECT 'v' || visitor_id, xmin::text FROM platform.visitor_contact ORDER BY 1, 2`;
  const written = await versions();
  const records = shuffled(desk(20), 7);
  expect(counts(await load(records))).toEqual({
    read: records.length,
    written: 0,
    unchanged: records.length,
    removed: 0,
    rejected: 0,
    suppressed: 0,
  });
  expect(await dump(store.sql)).toEqual(before);
  expect(await versions()).toEqual(written);
  expect(await receipts()).toEqual([]);
});

test('any order of lines gives the same content', async () => {
  await load(desk(30));
  const other = await freshDatabase();
  try {
    const result = await importRecords(other.db, shuffled(desk(30), 42));
    expect(result.rejected).toBe(0);
    expect(await content(other.sql)).toEqual(await content(store.sql));
  } finally {
    await other.close();
  }
});

test('native ids follow creation, then lines, and stay', async () => {
  await load(shuffled(desk(20), 3));
  const order = () => store.sql<{ names: string[] }[]>`
    SELECT array_agg(external_id ORDER BY id) AS names FROM platform.conversation WHERE site = 1`;
  const names = Array.from({ length: 20 }, (_, i) => `cnv${i}`).filter((_, i) => i % 2 === 0);
  const site = (await store.sql<{ site: string }[]>`SELECT site FROM platform.website WHERE external_id = 'w0'`)[0]
    ?.site;
  const [first] = await store.sql<{ names: string[] }[]>`
    SELECT array_agg(external_id ORDER BY id) AS names FROM platform.conversation WHERE site = ${site ?? 0}`;
  expect(first?.names).toEqual(names);
  const before = await order();
  await load([
    {
      ...desk(1).find((record) => record.type === 'conversation'),
      external_id: 'older',
      created_at: '2020-01-01T00:00:00Z',
    },
  ]);
  expect((await order())[0]?.names.filter((name) => name !== 'older')).toEqual(before[0]?.names);
  const operators = await store.sql`SELECT DISTINCT id FROM platform.operator WHERE external_id = 'ann'`;
  expect(operators).toHaveLength(1);
});

test('links, websites of operators and columns follow the last import; null replaces what is left out', async () => {
  await load(desk(4));
  await receipts();
  const [visitor, conversation] = ['visitor', 'conversation'].map((type) =>
    desk(4).find((record) => record.type === type),
  );
  const changes = [
    { ...visitor, contacts: ['con2'] },
    { ...conversation, contacts: [], operator: undefined },
    { type: 'operator', external_id: 'bot', organization: 'org', name: 'Bot', role: 'bot', websites: ['w1'] },
    {
      type: 'message',
      external_id: 'cnv0-1',
      conversation: 'cnv2',
      author_type: 'system',
      visibility: 'internal',
      kind: 'event',
      created_at: '2026-01-01T00:00:03Z',
    },
  ];
  // This answer refers to a message that has moved to another conversation. The answer stays where it is, so it loses
  // the reference.
  const answer = desk(4).find((record) => record.external_id === 'cnv0-2');
  expect(counts(await load([...changes, { ...answer, author: undefined, in_reply_to: undefined }]))).toMatchObject({
    written: 5,
    rejected: 0,
  });
  const stored = await content(store.sql);
  expect(stored['visitor_contact']?.find((row) => row.includes('vis0'))).toContain('con2');
  expect(stored['conversation_contact']?.some((row) => row.includes('cnv0'))).toBe(false);
  expect(stored['operator']?.filter((row) => row.includes('"bot"'))).toHaveLength(1);
  expect(JSON.parse(stored['conversation']?.find((row) => row.includes('"cnv0"')) ?? '')).toMatchObject({
    operator_id: null,
    message_count: 1,
  });
  expect(JSON.parse(stored['file']?.[0] ?? '')).toMatchObject({ conversation_id: 'cnv2', message_id: 'cnv0-1' });
  expect(await receipts()).toEqual([
    'w0 conversation.snapshot',
    'w0 operator.removed',
    'w0 queue.snapshot',
    'w0 visitor.snapshot',
  ]);
});

test('deletions remove the row and what depends on it, and say so', async () => {
  await load(desk(4));
  await receipts();
  const gone = (of: string, external_id: string) => ({ type: 'delete', of, external_id });
  const lines = [
    gone('contact', 'con0'),
    gone('visitor', 'vis1'),
    gone('conversation', 'cnv2'),
    gone('team', 't0'),
    gone('operator', 'bot'),
  ];
  expect(counts(await load([...lines, gone('file', 'never')]))).toEqual({
    read: 6,
    written: 0,
    unchanged: 1,
    removed: 5,
    rejected: 0,
    suppressed: 0,
  });
  expect(await receipts()).toEqual([
    'w0 conversation.removed',
    'w0 conversation.snapshot',
    'w0 operator.removed',
    'w0 operator.snapshot',
    'w0 privacy.removed',
    'w0 queue.snapshot',
    'w0 visitor.removed',
    'w0 visitor.snapshot',
    'w1 conversation.snapshot',
    'w1 operator.removed',
    'w1 privacy.removed',
    'w1 visitor.removed',
    'w1 visitor.snapshot',
  ]);
  const stored = await content(store.sql);
  expect(stored['contact']).toHaveLength(3);
  expect(stored['message']).toHaveLength(6);
  expect(JSON.stringify(stored)).not.toContain('dangling visitor');
  expect(JSON.stringify(stored)).not.toContain('dangling team');
  expect(counts(await load(lines))).toMatchObject({ removed: 0, unchanged: 5 });
  expect(await rejected([desk(1).find((record) => record.external_id === 'vis0')])).toEqual([
    '1 /contacts/0 unknown_reference',
  ]);
  expect(counts(await load([gone('website', 'w1'), gone('organization', 'org')]))).toMatchObject({ removed: 2 });
  expect(Object.entries(await content(store.sql)).filter(([, rows]) => rows.length > 0)).toEqual([]);
});

test('files: bytes in chunks, from base64 or beside the NDJSON file, and nowhere else', async () => {
  const box = join(folder, 'box');
  mkdirSync(join(box, 'sub'), { recursive: true });
  const big = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 7919) % 256));
  writeFileSync(join(box, 'sub', 'big.bin'), big);
  writeFileSync(join(folder, 'secret.txt'), 'secret');
  symlinkSync(join(folder, 'secret.txt'), join(box, 'link.txt'));
  symlinkSync(join(box, 'sub', 'big.bin'), join(box, 'inside.bin'));
  const file = (external_id: string, rest: object) => ({
    type: 'file',
    external_id,
    message: 'cnv0-1',
    name: '../../etc/pass\u0007wd',
    media_type: 'image/png',
    created_at: '2026-05-01T00:00:00Z',
    ...rest,
  });
  const path = join(box, 'in.ndjson');
  const lines = [
    ...desk(1),
    file('a', { path: 'sub/big.bin' }),
    file('b', { content_base64: big.subarray(0, 65_536).toString('base64') }),
    file('c', { content_base64: '' }),
    file('d', { path: 'inside.bin' }),
    file('x', { path: 'link.txt' }),
    file('y', { path: 'missing.txt' }),
    file('z', { path: 'sub' }),
  ];
  writeFileSync(path, ndjson(lines));
  const found: string[] = [];
  await importFiles(store.db, { files: [path], onReject: ({ pointer, code }) => found.push(`${pointer} ${code}`) });
  expect(found).toEqual(['/path path_outside', '/path file_not_found', '/path not_a_file']);
  const bytesOf = async (name: string): Promise<Buffer> => {
    const rows = await store.sql<{ bytes: Buffer }[]>`
      SELECT c.bytes FROM platform.file f JOIN platform.file_chunk c ON (c.tenant, c.site, c.file_id) = (f.tenant, f.site, f.id)
       WHERE f.external_id = ${name} ORDER BY c.chunk`;
    return Buffer.concat(rows.map((row) => row.bytes));
  };
  expect((await bytesOf('a')).equals(big)).toBe(true);
  expect((await bytesOf('b')).equals(big.subarray(0, 65_536))).toBe(true);
  expect((await bytesOf('d')).equals(big)).toBe(true);
  const sha256 = createHash('sha256').update(big).digest('hex');
  const [row] = await store.sql`SELECT name, size::int, version, sha256 FROM platform.file WHERE external_id = 'a'`;
  expect(row).toEqual({ name: 'passwd', size: 200_000, version: sha256.slice(0, 32), sha256 });
  writeFileSync(path, ndjson([file('a', { content_base64: 'AAAA' })]));
  expect(counts(await importFiles(store.db, { files: [path] }))).toMatchObject({ written: 1 });
  expect(await bytesOf('a')).toEqual(Buffer.alloc(3));
});

test('a dry run tells what would happen and changes nothing', async () => {
  await load(desk(2));
  await receipts();
  const before = await dump(store.sql);
  const found: Reject[] = [];
  const records = [
    ...desk(3),
    { type: 'team', external_id: 'x', website: 'w7' },
    { type: 'delete', of: 'contact', external_id: 'con1' },
  ];
  const options = { dryRun: true, onReject: (one: Reject) => found.push(one) };
  const dry = await importRecords(store.db, records, options);
  expect(await dump(store.sql)).toEqual(before);
  expect(await receipts()).toEqual([]);
  expect(found.length).toBeGreaterThan(0);
  expect(await load(records)).toEqual(dry);
});

it('any small set of records gives the same content in any order and any batches', async () => {
  const base = desk(3);
  await fc.assert(
    fc.asyncProperty(fc.subarray(base, { minLength: 12 }), fc.nat(), fc.nat({ max: 3 }), async (chosen, seed, cuts) => {
      const whole = await freshDatabase();
      const parts = await freshDatabase();
      try {
        await importRecords(whole.db, chosen);
        const mixed = shuffled(chosen, seed + 1);
        // The parts are imported in random order, so an early part can refer to records of a later part. Import the
        // whole set at the end, to add the missing references.
        for (let i = 0; i < cuts; i++)
          await importRecords(
            parts.db,
            mixed.filter((_, at) => at % (cuts + 1) === i),
          );
        await importRecords(parts.db, mixed);
        expect(await content(parts.sql)).toEqual(await content(whole.sql));
      } finally {
        await Promise.all([whole.close(), parts.close()]);
      }
    }),
    { numRuns: repeats(6, 60, 2) },
  );
});
