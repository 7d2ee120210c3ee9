import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ImportResult, importFiles, importRecords, type Reject } from '../../../src/sources/files/import.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { content, desk, ndjson, temporary } from '../../support/import.ts';

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

test('a file of lines: each bad one is reported with line, pointer and code, the rest is imported', async () => {
  const good = ndjson(desk(1)).trimEnd().split('\n');
  const invalid = Buffer.from('{"type":"team","external_id":"\xff"}', 'latin1');
  const bytes = Buffer.concat([
    Buffer.from(`\ufeff${good.join('\r\n')}\n\n{"type":"team",\n`),
    invalid,
    Buffer.from(`\n${JSON.stringify({ type: 'team', external_id: 'x'.repeat(17 * 1024 * 1024) })}\n`),
    Buffer.from(
      `${ndjson([
        { type: 'robot', external_id: 'x' },
        { type: 'team', external_id: 't9', website: 'w0', enabled: 'yes', colour: 'red' },
        {
          type: 'disposition',
          external_id: 'd9',
          website: 'w0',
          value: 'v',
          label: 'l',
          position: 2 ** 63,
        },
        { type: 'subsite', external_id: 's9', website: 'w0', name: 'nul \0 and \ud800' },
      ])}[]\n"last line without an end"`,
    ),
  ]);
  const path = join(folder, 'bad.ndjson');
  const rejects = join(folder, 'rejects.ndjson');
  writeFileSync(path, bytes);
  const result = await importFiles(store.db, { files: [path], rejects });
  const n = good.length;
  const expected = [
    [n + 2, '', 'invalid_json'],
    [n + 3, '', 'invalid_utf8'],
    [n + 4, '', 'line_too_long'],
    [n + 5, '/type', 'unknown_type'],
    [n + 6, '/enabled', 'invalid_type'],
    [n + 6, '/colour', 'unknown_member'],
    [n + 7, '/position', 'out_of_range'],
    [n + 8, '/name', 'invalid_text'],
    [n + 9, '', 'invalid_type'],
    [n + 10, '', 'invalid_type'],
  ];
  const reported = readFileSync(rejects, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Reject);
  expect(reported).toEqual(expected.map(([line, pointer, code]) => ({ file: path, line, pointer, code })));
  expect(counts(result)).toEqual({ read: n + 9, written: n, unchanged: 0, removed: 0, rejected: 9, suppressed: 0 });
});

test('impossible references are refused, and what refers to the refused with them', async () => {
  await load(desk(4));
  const [at, more] = [
    '2026-05-01T00:00:00Z',
    { visibility: 'public', kind: 'text', created_at: '2026-05-01T00:00:00Z' },
  ];
  const conversation = { type: 'conversation', status: 'closed', platform: 'chat', created_at: at, updated_at: at };
  const message = { type: 'message', author_type: 'system', ...more };
  expect(
    await rejected([
      { ...conversation, external_id: 'a', website: 'nowhere' },
      { ...conversation, external_id: 'b', website: 'w0', channel: 'c1' },
      { ...conversation, external_id: 'c', website: 'w0', contacts: ['con0', 'con1'] },
      { ...conversation, external_id: 'd', website: 'w0', contacts: ['con0', 'nobody'] },
      { ...message, external_id: 'e', conversation: 'a' },
      { ...message, external_id: 'f', conversation: 'cnv0', in_reply_to: 'e' },
      { ...message, external_id: 'g', conversation: 'cnv0', in_reply_to: 'f' },
      { ...message, external_id: 'h', conversation: 'cnv0', in_reply_to: 'cnv2-1' },
      { ...message, external_id: 'i', conversation: 'cnv0', author_type: 'visitor', author: 'ann' },
      { ...conversation, external_id: 'cnv0', website: 'w1' },
      {
        type: 'operator',
        external_id: 'ann',
        organization: 'org',
        name: 'Ann',
        role: 'owner',
        websites: ['w0'],
        teams: ['t0', 't1'],
      },
      {
        type: 'file',
        external_id: 'j',
        message: 'cnv0-1',
        name: 'n',
        media_type: 'a/b',
        path: 'x.txt',
        created_at: at,
      },
      { ...message, external_id: 'ok', conversation: 'cnv0', in_reply_to: 'ok2' },
      { ...message, external_id: 'ok2', conversation: 'cnv0' },
    ]),
  ).toEqual([
    '1 /website unknown_reference',
    '2 /channel reference_elsewhere',
    '3 /contacts/1 reference_elsewhere',
    '4 /contacts/1 unknown_reference',
    '5 /conversation unknown_reference',
    '6 /in_reply_to unknown_reference',
    '7 /in_reply_to unknown_reference',
    '8 /in_reply_to reference_elsewhere',
    '9 /author unknown_reference',
    '10 /website immutable_website',
    '11 /teams/1 reference_elsewhere',
    '12 /path path_refused',
  ]);
  const stored = (await content(store.sql))['message']?.map((row) => JSON.parse(row));
  expect(stored?.find((row) => row.external_id === 'ok')?.in_reply_to).toBe('ok2');
});

test('of two records with one key the later line stands; a repeated line is no fault', async () => {
  await load(desk(2));
  const team = (name: string) => ({ type: 'team', external_id: 'new', website: 'w0', name });
  const gone = { type: 'delete', of: 'team', external_id: 'new' };
  expect(await rejected([team('a'), team('b'), team('b')])).toEqual(['1 /external_id duplicate_record']);
  expect(await rejected([team('a'), gone])).toEqual(['1 /external_id duplicate_record']);
  expect((await content(store.sql))['team']).toHaveLength(2);
  expect(await rejected([gone, team('c')])).toEqual(['1 /external_id duplicate_record']);
  expect((await content(store.sql))['team']).toHaveLength(3);
});

describe('several organizations', () => {
  const other = [
    { type: 'organization', external_id: 'two', name: 'Two' },
    { type: 'website', external_id: 'w0', organization: 'two', name: 'Theirs', time_zone: 'UTC' },
  ];
  const team = { type: 'team', external_id: 'mine', website: 'w0' };
  test('a run that names its organization does not reach into another', async () => {
    await load(desk(1));
    await load(other);
    expect(await rejected([team])).toEqual(['1 /website ambiguous_reference']);
    expect(await rejected([...other, team])).toEqual([]);
    expect(await rejected([...other, { ...team, external_id: 'x', website: 'w1' }])).toEqual([
      '3 /website unknown_reference',
    ]);
    expect(await rejected([team], 'org')).toEqual([]);
    expect((await content(store.sql))['team']?.filter((row) => row.includes('"mine"'))).toHaveLength(2);
    expect(await rejected([{ type: 'delete', of: 'team', external_id: 'mine' }])).toEqual([
      '1 /external_id ambiguous_reference',
    ]);
    await expect(rejected([team], `org_${'0'.repeat(32)}`)).rejects.toThrow('The organization does not exist.');
  });
});

test('when PostgreSQL refuses rows of a batch, only these rows are left out, with what refers to them', async () => {
  // The schemas of the import would refuse such a row. The test adds a check that only PostgreSQL knows.
  await store.sql`ALTER TABLE platform.contact ADD CHECK (name NOT LIKE 'bad%')`;
  const records = desk(1).map((record) => (record.type === 'contact' ? { ...record, name: 'good' } : record));
  const contact = records.find(({ type }) => type === 'contact');
  const more = Array.from({ length: 700 }, (_, i) => ({
    ...contact,
    external_id: `more${i}`,
    name: i % 300 === 150 ? `bad ${i}` : 'good',
  }));
  const visitor = {
    ...records.find(({ type }) => type === 'visitor'),
    external_id: 'of more150',
    contacts: ['more150'],
  };
  const lines = [...records, ...more, visitor];
  expect(await rejected(lines)).toEqual([
    `${records.length + 151}  unwritable`,
    `${records.length + 451}  unwritable`,
    `${lines.length} /contacts/0 unknown_reference`,
  ]);
  const [stored] = await store.sql`SELECT count(*)::integer AS n FROM platform.contact WHERE external_id LIKE 'more%'`;
  expect(stored).toEqual({ n: 698 });
});
