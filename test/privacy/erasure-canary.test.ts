import { randomInt } from 'node:crypto';
import type postgres from 'postgres';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { Keyring } from '../../src/auth/keys.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import { cliDatabase, gateway } from '../support/cli.ts';
import type { TestDatabase } from '../support/database.ts';
import { desk } from '../support/import.ts';
import { COLUMNS, scan, textColumns } from '../support/privacy/columns.ts';

/** The keys of the commands in this file. */
const OPERATOR = new Keyring([{ kid: '1', secret: Buffer.alloc(32, 7) }]);

let database: TestDatabase;
beforeAll(async () => {
  database = await cliDatabase('empty');
  vi.stubEnv('GATEWAY_KEYS', `1:${Buffer.alloc(32, 7).toString('base64')}`);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await database.close();
});
afterEach(() => vi.restoreAllMocks());

const planted = Object.keys(COLUMNS).filter((column) => COLUMNS[column] === 'planted');
/** A word of its own for each column. All are spellings, so that the look-up of typing errors learns them. */
const letters = (from: string, n: number): string =>
  Array.from({ length: n }, () => from[randomInt(from.length)]).join('');
const words = new Map(
  planted.map((column) => [
    column,
    column.endsWith('.version') || column.endsWith('.sha256')
      ? letters('0123456789abcdef', 64)
      : `zq${letters('bcdfghjklm', 12)}`,
  ]),
);
const word = (column: string): string => words.get(column) ?? '';

const at = '2026-01-05T00:00:00Z';
/** The person: a contact with two visitors, two conversations of its own, and a message in a conversation of somebody else. */
const person = (): object[] => [
  {
    type: 'contact',
    external_id: 'pc',
    website: 'w0',
    email: 'Jane.Roe@example.com',
    mobile: '+49 30 5550199',
    created_at: at,
  },
  { type: 'visitor', external_id: 'pv1', website: 'w0', contacts: ['pc'], created_at: at },
  { type: 'visitor', external_id: 'pv2', website: 'w0', contacts: ['pc'], created_at: at },
  {
    type: 'conversation',
    external_id: 'pk1',
    website: 'w0',
    visitor: 'pv1',
    contacts: ['pc'],
    channel: 'c0',
    team: 't0',
    operator: 'ann',
    status: 'closed',
    platform: 'chat',
    created_at: at,
    closed_at: at,
  },
  {
    type: 'conversation',
    external_id: 'pk2',
    website: 'w0',
    contacts: ['pc'],
    status: 'closed',
    platform: 'email',
    created_at: at,
  },
  ...['pk1', 'pk2', 'cnv0'].flatMap((conversation, i) => [
    {
      type: 'message',
      external_id: `pm${i}`,
      conversation,
      author_type: 'visitor',
      author: i === 0 ? 'pv1' : 'pv2',
      visibility: 'public',
      kind: 'text',
      text: 'help',
      created_at: at,
    },
    {
      type: 'file',
      external_id: `pf${i}`,
      message: `pm${i}`,
      name: 'a.txt',
      media_type: 'text/plain',
      content_base64: Buffer.from('picture').toString('base64'),
      created_at: at,
    },
  ]),
  {
    type: 'message',
    external_id: 'pr',
    conversation: 'pk1',
    author_type: 'operator',
    author: 'ann',
    visibility: 'internal',
    kind: 'text',
    text: 'reply',
    created_at: at,
  },
  { type: 'note', external_id: 'pn', visitor: 'pv1', operator: 'ann', title: 'T', text: 'about', created_at: at },
  {
    type: 'ai_result',
    external_id: 'pa',
    conversation: 'pk1',
    topics: ['refund'],
    resolution: 'solved',
    outcome: 'done',
    sentiment: 0.5,
  },
];

/** Writes the word of each column into the person's rows. */
async function plant(sql: postgres.Sql): Promise<void> {
  const rows: Record<string, string> = {
    contact: `external_id = 'pc'`,
    visitor: `external_id = 'pv1'`,
    conversation: `external_id = 'pk1'`,
    message: `external_id IN ('pm0', 'pm2')`,
    file: `external_id IN ('pf0', 'pf2')`,
    file_chunk: `file_id = (SELECT max(id) FROM platform.file)`,
    note: `external_id = 'pn'`,
    ai_result: `external_id = 'pa'`,
  };
  await sql`UPDATE platform.conversation_contact l SET contact_id = c.id FROM platform.conversation k, platform.contact c
             WHERE k.external_id = 'cnv0' AND c.external_id = 'pc' AND l.conversation_id = k.id AND l.tenant = k.tenant AND l.site = k.site`;
  const [op, credential] = [`op_${'a'.repeat(64)}`, `crd_${'b'.repeat(32)}`];
  const [{ tenant, site, visitor }] = (await sql`
    SELECT v.tenant, v.site, v.id AS visitor FROM platform.visitor v WHERE v.external_id = 'pv1'`) as unknown as [
    Record<string, string>,
  ]; // the row exists
  await sql`INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at) VALUES (${tenant ?? ''}, ${site ?? ''}, 9999, ${op}, ${visitor ?? ''}, 'x', now())`;
  for (const id of [op, `op_${'c'.repeat(64)}`])
    await sql`INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint, outcome)
      VALUES (${id}, ${credential}, 1, ${tenant ?? ''}, ${site ?? ''}, 'visitor_note_add', 'acknowledged', ${Buffer.alloc(32)}, ${sql.json({ done: { author: word('gateway.operation.outcome') } })})`;
  const waiting = `op_${'d'.repeat(64)}`;
  await sql`INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint)
    VALUES (${waiting}, ${credential}, 1, ${tenant ?? ''}, ${site ?? ''}, 'visitor_note_add', 'pending', ${Buffer.alloc(32)})`;
  await sql`INSERT INTO gateway.approval (operation_id, credential_id, revision, tenant, site, operation, record, command)
    VALUES (${waiting}, ${credential}, 1, ${tenant ?? ''}, ${site ?? ''}, 'visitor_note_add', ${visitor ?? ''},
      ${sql.json({ visitor: visitor ?? '', text: word('gateway.approval.command') })})`;
  const source = `src_${'d'.repeat(32)}`;
  await sql`INSERT INTO gateway.source (id, tenant, kind, account, mode, period, time_zone, address) VALUES (${source}, ${tenant ?? ''}, 'chatwoot', '1', 'poll', 15, 'UTC', ${OPERATOR.seal('source', 'x')})`;
  await sql`INSERT INTO gateway.write_back (operation_id, source, tenant, site, record, target, author)
    VALUES (${`op_${'c'.repeat(64)}`}, ${source}, ${tenant ?? ''}, ${site ?? ''}, ${visitor ?? ''}, ${word('gateway.write_back.target')}, 1)`;
  await sql`INSERT INTO gateway.app (id, tenant, name) VALUES (${`app_${'e'.repeat(32)}`}, ${tenant ?? ''}, 'A')`;
  await sql`INSERT INTO gateway.installation (id, app_id) VALUES (${`ins_${'e'.repeat(32)}`}, ${`app_${'e'.repeat(32)}`})`;
  await sql`INSERT INTO gateway.task (id, installation_id, credential_id, message, fingerprint, grants, context_id, skill, state, state_at, artifact, history, owner, lost_as, created_at, expires_at)
    VALUES (${`task_${'f'.repeat(32)}`}, ${`ins_${'e'.repeat(32)}`}, ${credential}, ${Buffer.alloc(32)}, ${Buffer.alloc(32)}, ${Buffer.alloc(32)}, ${word('gateway.task.context_id')}, 's', 'completed', now(),
      ${sql.json({ a: word('gateway.task.artifact') })}, ${sql.json([{ id: '1', text: word('gateway.task.history') }])}, 'o', 'interrupted', now(), now() + interval '15 minutes')`;
  for (const column of planted) {
    const [, table = '', name = ''] = /^platform\.(\w+)\.(\w+)$/.exec(column) ?? [];
    const where = rows[table];
    if (where === undefined || name === 'external_id') continue;
    const value =
      name === 'bytes'
        ? `convert_to('${word(column)}', 'UTF8')`
        : name === 'topics'
          ? `ARRAY['${word(column)}']`
          : `'${word(column)}'`;
    await sql.unsafe(`UPDATE platform.${table} SET ${name} = ${value} WHERE ${where}`);
  }
  // Last, because the rows are found by their external_ids. The second row of a table gets a suffix.
  for (const [table, where] of Object.entries(rows))
    if (table !== 'file_chunk')
      await sql.unsafe(
        `UPDATE platform.${table} SET external_id = '${word(`platform.${table}.external_id`)}' || id WHERE ${where}`,
      );
}

/** An import that is killed while it reads: its records wait in the tables of a slot. */
async function killed(): Promise<void> {
  const staged = (column: string): string => word(`gateway.import_stage_N.${column}`);
  const kept = [
    { type: 'contact', external_id: staged('external_id'), website: 'w0', name: staged('data'), created_at: at },
    { type: 'visitor', external_id: 'sv', website: 'w0', contacts: [staged('links')], created_at: at },
    { type: 'note', external_id: 'sn', visitor: staged('owner'), operator: staged('refs'), text: 'x', created_at: at },
    {
      type: 'file',
      external_id: 'sf',
      message: 'sm',
      name: 'f',
      media_type: 'text/plain',
      content_base64: Buffer.from(word('gateway.import_chunk_N.bytes')).toString('base64'),
      created_at: at,
    },
    { type: 'contact', external_id: 'sr', website: 'w0', created_at: at, [word('gateway.import_reject_N.pointer')]: 1 },
  ];
  async function* records(): AsyncGenerator<object> {
    yield* kept;
    for (let i = 0; i < 2500; i++) yield { type: 'contact', external_id: `filler${i}`, website: 'w0', created_at: at };
    throw new Error('killed');
  }
  await expect(importRecords(database.db, records(), { name: 'killed' })).rejects.toThrow('killed');
}

it('knows every column that can hold text', async () => {
  expect(await textColumns(database.sql)).toEqual(Object.keys(COLUMNS).sort());
  expect(planted.length).toBeGreaterThan(40);
});

it('leaves no word of an erased person in any table, in the search, or in what the command prints', async () => {
  const { db, sql } = database;
  await importRecords(db, [...desk(4), ...person()], { name: 'first' });
  await plant(sql);
  await killed();
  const all = [...words.values()];
  const before = await scan(sql, all);
  const missed = planted.filter((column) => {
    const table = column.slice(0, column.lastIndexOf('.')).replace('_N', '_');
    const looked = column.startsWith('platform.spelling') ? word('platform.message.text') : word(column);
    return !(before.found.get(looked) ?? []).some((name) => name.startsWith(table));
  });
  expect(missed).toEqual([]);
  const [totals] =
    await sql`SELECT message_count, visitor_messages, operator_messages, last_message_at FROM platform.conversation WHERE external_id LIKE ${`${word('platform.conversation.external_id')}%`}`;
  const others =
    await sql`SELECT md5(string_agg(m.text, ',' ORDER BY m.id)) FROM platform.message m WHERE external_id LIKE 'cnv%'`;
  const [found] =
    await sql`SELECT 'ctc_' || tenant || '_' || site || '_' || id AS id FROM platform.contact WHERE name = ${word('platform.contact.name')}`;

  const printed = await gateway('erase', 'contact', String(found?.['id']), '--reason', 'request 7', '--yes', '--json');
  expect(printed).toMatchObject({ code: 0 });
  expect(all.filter((one) => `${printed.stdout}${printed.stderr}`.includes(one))).toEqual([]);
  const certificate = JSON.parse(printed.stdout);
  expect(certificate).toMatchObject({
    kind: 'contact',
    dry_run: false,
    counts: { contacts: 1, visitors: 2, conversations: 2, messages: 4, files: 3, notes: 2, tasks: 1 },
  });
  const after = await scan(sql, [...all, 'jane.roe', '5550199']);
  expect([...after.found]).toEqual([]);
  expect(after.rows).toBeGreaterThan(200);
  for (const one of all)
    expect(await sql`SELECT kind, id FROM platform.said WHERE words @@ to_tsquery('simple', ${one})`, one).toEqual([]);
  const [shell] =
    await sql`SELECT * FROM platform.conversation WHERE external_id LIKE 'erased:%' AND team_id IS NOT NULL`;
  expect(shell).toMatchObject({ ...totals, status: 'closed', platform: 'chat', visitor_id: null, subject: null });
  expect(
    await sql`SELECT md5(string_agg(m.text, ',' ORDER BY m.id)) FROM platform.message m WHERE external_id LIKE 'cnv%'`,
  ).toEqual(others);
});
