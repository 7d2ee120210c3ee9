import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ImportRecordInput } from '../../../src/sources/engine/records.ts';
import { importRecords } from '../../../src/sources/files/import.ts';
import { ACTIONS } from '../../support/chatwoot/actions.ts';
import { difference, emptyWorld, type Held, type Stored, type World } from '../../support/chatwoot/difference.ts';
import { openProbe } from '../../support/chatwoot/lag.ts';
import { expected } from '../../support/chatwoot/oracle.ts';
import { createChatwoot, openChatwoot, populate } from '../../support/chatwoot/populate.ts';
import { type Action, type Committed, plan, type Simulated, simulate } from '../../support/chatwoot/simulator.ts';
import { misordered, stored } from '../../support/chatwoot/stored.ts';
import { openCluster } from '../../support/cluster.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
let sql: postgres.Sql;
let done: Simulated;
const acted: Action[] = [];
const committed: Committed[] = [];
const run = { seed: 21, seconds: 6, rate: 120 };

beforeAll(async () => {
  database = await freshDatabase();
  const { host, port, name } = database;
  sql = openChatwoot({ host, port, database: name, username: 'postgres' });
  await createChatwoot(sql);
  await populate(sql, { conversations: 150, messages: 1500, seed: 1 });
  const [acts, commits] = [(one: Action) => acted.push(one), (one: Committed) => committed.push(one)];
  done = await simulate(sql, { ...run, acted: acts, committed: commits });
});
afterAll(async () => {
  await sql.end();
  await database.close();
});

describe('the simulator', () => {
  test('plans the same actions for the same seed, and others for another seed', () => {
    expect([...plan(run)]).toEqual([...plan(run)]);
    expect([...plan({ ...run, seed: 22 })]).not.toEqual([...plan(run)]);
    const made = acted.sort((a, b) => a.n - b.n);
    expect(made).toEqual([...plan(run)].filter(({ n }) => made.some((one) => one.n === n)));
    expect(done.actions).toBe(720);
    expect(made.length + done.refused).toBeGreaterThanOrEqual(720);
  });

  test('does every kind of action', () => {
    const left = Object.keys(ACTIONS).filter((kind) => !new Map<string, number>(done.kinds).has(kind));
    expect(left).toEqual([]);
    expect(new Set(committed.map(({ what }) => what))).toEqual(new Set(['message', 'redacted', 'gone']));
  });

  test('ends at rest: no open transaction, no row without its owner, no job left', async () => {
    const open =
      await sql`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;
    expect(open).toHaveLength(0);
    const orphans = await sql`
      SELECT 'message' AS what, id FROM messages m WHERE NOT EXISTS (SELECT FROM conversations c WHERE c.id = m.conversation_id)
      UNION ALL SELECT 'attachment', id FROM attachments a WHERE NOT EXISTS (SELECT FROM messages m WHERE m.id = a.message_id)
      UNION ALL SELECT 'visitor', id FROM contact_inboxes v WHERE NOT EXISTS (SELECT FROM contacts c WHERE c.id = v.contact_id)
      UNION ALL SELECT 'conversation', id FROM conversations v WHERE NOT EXISTS (SELECT FROM contact_inboxes c WHERE c.id = v.contact_inbox_id)
      UNION ALL SELECT 'note', id FROM notes n WHERE NOT EXISTS (SELECT FROM contacts c WHERE c.id = n.contact_id)`;
    expect(orphans).toEqual([]);
    expect(done.jobs).toBeGreaterThan(100);
  });

  test('writes what a connector must stand: both encodings, old times, late commits, files without blobs, refused rows', async () => {
    const [seen] = await sql`SELECT
      count(*) FILTER (WHERE content_attributes::text LIKE '"%') AS twice, count(*) FILTER (WHERE content_attributes::text LIKE '{%') AS once,
      count(*) FILTER (WHERE content_attributes::text LIKE '%external_created_at%') AS external, count(*) FILTER (WHERE length(content) > 50000) AS long,
      count(*) FILTER (WHERE content_attributes::text LIKE '%deleted%') AS deleted, count(*) FILTER (WHERE content_type = 8) AS mail FROM messages`;
    expect(
      Object.values(seen ?? {})
        .map(Number)
        .filter((n) => n === 0),
    ).toEqual([]);
    const touched = await sql`SELECT id FROM conversations WHERE last_activity_at > updated_at`;
    expect(touched.length).toBeGreaterThan(0);
  });
});

describe('the oracle', () => {
  test('has nothing for an account that does not exist, and only the website for an empty account', async () => {
    expect(sizes(await expected(sql, { account: 99 }))).toEqual({});
    await sql`INSERT INTO accounts (id, name, created_at, updated_at) VALUES (98, 'Empty', now(), now())`;
    expect(sizes(await expected(sql, { account: 98 }))).toEqual({ organization: 1, website: 1 });
  });

  test('names only rows of its account, and no row that hangs on a refused row', async () => {
    const [one, two] = [await expected(sql, { account: 1 }), await expected(sql, { account: 2 })];
    for (const [world, account] of [
      [one, 1],
      [two, 2],
    ] as const) {
      const ids = Object.values(world).flatMap((held) => [...held.keys()]);
      expect(ids.filter((id) => !id.startsWith(`cw:${account}:`))).toEqual([]);
      expect(ids.length).toBeGreaterThan(200);
    }
    // The import refuses an operator without a name.
    await sql`UPDATE users SET name = '', display_name = '' WHERE id = (SELECT assignee_id FROM conversations c WHERE account_id = 2 AND assignee_id IS NOT NULL AND EXISTS (SELECT FROM messages m WHERE m.conversation_id = c.id) LIMIT 1)`;
    const after = await expected(sql, { account: 2 });
    for (const type of ['operator', 'conversation', 'message'] as const) {
      expect(after[type].size, type).toBeLessThan(two[type].size);
    }
  });

  test('and the reader of the store agree about records that the file import writes', async () => {
    const world = await expected(sql, { account: 1 });
    const result = await importRecords(database.db, recordsOf(world));
    expect(result.rejected).toBe(0);
    const [organization] = await sql<{ tenant: string }[]>`SELECT tenant FROM platform.organization`;
    const held = await stored(sql, Number(organization?.tenant));
    expect(await misordered(sql, Number(organization?.tenant))).toEqual([]);
    const { kinds } = difference(world, held);
    // The file import needs content, so these files are empty. A plain text is imported as text, and not as html.
    const html = [...world.message.values()].filter(({ members }) => members['kind'] === 'html').length;
    expect({ ...kinds, 'file different size': 0 }).toEqual({
      'file different size': 0,
      'message different kind': html,
    });
    const probe = openProbe(sql, new Map([[1, Number(organization?.tenant)]]), 1);
    const [id] = [...world.message.keys()].map((key) => Number(key.split(':').at(-1)));
    probe.committed({ what: 'message', account: 1, id: id ?? 0, at: performance.now() });
    probe.committed({ what: 'gone', account: 1, id: 987654321, at: performance.now() });
    probe.committed({ what: 'message', account: 1, id: 987654321, at: performance.now() });
    expect(await probe.stop(300)).toMatchObject({ seen: 2, unseen: ['message cw:1:message:987654321'] });
  });
});

test('the oracle maps rows that are written by hand', async () => {
  const sets = `
    INSERT INTO accounts (id, name, locale, created_at, updated_at) VALUES (50, 'By hand', 16, now(), now());
    INSERT INTO users (id, name, display_name, email, uid, created_at, updated_at) VALUES (5001, 'Left', '', 'l', 'l5001', now(), now()), (5002, 'Here', 'Shown', 'h', 'h5002', now(), now()), (5003, 'Stranger', '', 's', 's5003', now(), now());
    INSERT INTO account_users (account_id, user_id, role, created_at, updated_at) VALUES (50, 5002, 1, now(), now());
    INSERT INTO teams (id, name, account_id, created_at, updated_at) VALUES (5001, 'desk', 50, now(), now());
    INSERT INTO team_members (team_id, user_id, created_at, updated_at) VALUES (5001, 5002, now(), now());
    INSERT INTO inboxes (id, channel_id, account_id, name, channel_type, created_at, updated_at) VALUES (5001, 1, 50, 'Mail', 'Channel::Email', now(), now());
    INSERT INTO agent_bots (id, name, created_at, updated_at) VALUES (5001, 'Global', now(), now()), (5002, 'Silent', now(), now());
    INSERT INTO canned_responses (id, account_id, short_code, content, created_at, updated_at) VALUES (5001, 50, 'hi', 'Hello', now(), now());
    INSERT INTO contacts (id, account_id, name, last_name, phone_number, country_code, additional_attributes, created_at, updated_at)
      VALUES (5001, 50, 'Ada', 'King', '06641234567', 'Austria', '{"country_code": "at", "company_name": "Engines"}', '2026-01-01', '2026-01-02');
    INSERT INTO contact_inboxes (id, contact_id, inbox_id, source_id, created_at, updated_at) VALUES (5001, 5001, 5001, 's1', '2026-01-01', now()), (5002, 5001, 5001, 's2', '2026-01-01', now());
    INSERT INTO notes (id, content, account_id, contact_id, user_id, created_at, updated_at) VALUES (5001, 'VIP', 50, 5001, 5002, '2026-01-05', now());
    INSERT INTO conversations (id, account_id, inbox_id, status, assignee_id, team_id, contact_id, contact_inbox_id, additional_attributes, created_at, updated_at, last_activity_at, contact_last_seen_at)
      VALUES (5001, 50, 5001, 1, 5002, 5001, 5001, 5001, '{"mail_subject": "Engine", "conversation_language": "not a tag"}', '2026-01-01', '2026-01-03', '2026-01-04', '2026-01-06'),
             (5002, 50, 5001, 1, NULL, NULL, 5001, 5001, '{}', '2026-01-01', '2026-01-03', '2026-01-02', NULL), (5003, 50, 5001, 0, 5002, NULL, 5001, 5002, '{}', '2026-01-01', '2026-01-03', '2026-01-02', NULL);
    INSERT INTO reporting_events (name, conversation_id, created_at, updated_at, event_end_time) VALUES
      ('conversation_resolved', 5001, '2026-01-02', now(), '2026-01-02'), ('conversation_resolved', 5001, '2026-01-03 05:00', now(), NULL), ('conversation_opened', 5001, '2026-01-09', now(), '2026-01-09');
    INSERT INTO csat_survey_responses (account_id, conversation_id, message_id, rating, feedback_message, contact_id, created_at, updated_at) VALUES
      (50, 5001, 1, 2, 'old', 5001, '2026-01-01', now()), (50, 5001, 2, 5, repeat('é', 150), 5001, '2026-01-02', now()), (50, 5002, 3, 4, '', 5001, '2026-01-02', now());
    INSERT INTO messages (id, account_id, inbox_id, conversation_id, message_type, private, content, content_type, content_attributes, sender_type, sender_id, status, created_at, updated_at) VALUES
      (90001, 50, 5001, 5001, 0, false, '<p>Hi &amp; bye</p>', 8, '"{}"', 'Contact', 5001, 2, '2026-01-01', now()),
      (90002, 50, 5001, 5001, 1, true, 'secret', 0, '"{\\"in_reply_to\\":\\"90001\\"}"', 'User', 5001, 0, '2026-01-02', now()),
      (90003, 50, 5001, 5002, 0, false, 'elsewhere', 0, '{"in_reply_to": 90001, "external_created_at": "1700000000"}', 'Contact', 5001, 3, '2026-01-02', now()),
      (90004, 50, 5001, 5001, 1, false, 'This message was deleted', 0, '"{\\"deleted\\":true}"', 'User', 5002, 1, '2026-01-03', now()),
      (90005, 50, 5001, 5001, 1, false, 'beep', 6, '{}', 'AgentBot', 5001, 0, '2026-01-03', now()), (90006, 50, 5001, 5001, 2, false, 'assigned', 0, '{}', NULL, NULL, 0, '2026-01-03', now()),
      (90007, 50, 5001, 5001, 1, false, '', 0, '{}', NULL, NULL, NULL, '2026-01-03', now()), (90008, 50, 5001, 4999, 0, false, 'orphan', 0, '{}', NULL, NULL, 0, '2026-01-03', now());
    INSERT INTO attachments (id, message_id, account_id, created_at, updated_at) VALUES (90001, 90007, 50, '2026-01-03', now()), (90002, 90007, 50, '2026-01-03', now());
    INSERT INTO active_storage_blobs (id, key, filename, byte_size, created_at, service_name) VALUES (90001, 'k90001', 'a/b.bin', 7, now(), 'local');
    INSERT INTO active_storage_attachments (name, record_type, record_id, blob_id, created_at) VALUES ('file', 'Attachment', 90001, 90001, now());`;
  await sql.unsafe(sets).simple();
  const world = await expected(sql, { account: 50 });
  const row = (type: Stored, id: string): unknown => world[type].get(`cw:50:${id}`)?.members;
  expect(sizes(world)).toEqual({
    organization: 1,
    website: 1,
    channel: 1,
    team: 1,
    operator: 3,
    contact: 1,
    visitor: 2,
    saved_response: 1,
    conversation: 3,
    message: 7,
    file: 1,
    note: 2,
  });
  expect(row('operator', 'operator:5001')).toEqual({
    name: 'Left',
    email: null,
    role: 'operator',
    enabled: false,
    teams: [],
  });
  expect(row('operator', 'operator:5002')).toMatchObject({
    name: 'Shown',
    role: 'admin',
    enabled: true,
    teams: ['cw:50:team:5001'],
  });
  expect(row('operator', 'agent_bot:5001')).toMatchObject({ name: 'Global', role: 'bot' });
  expect(row('contact', 'contact:5001')).toMatchObject({
    name: 'Ada King',
    first_name: 'Ada',
    last_name: 'King',
    country: 'AT',
    company: 'Engines',
    mobile_e164: '+436641234567',
  });
  expect(row('visitor', 'visitor:5001')).toMatchObject({
    contacts: ['cw:50:contact:5001'],
    last_seen_at: '2026-01-06T00:00:00.000000Z',
  });
  expect(row('saved_response', 'saved_response:5001')).toMatchObject({
    language: 'pt-BR',
    label: 'hi',
    category_name: 'Chatwoot',
  });
  expect(row('conversation', 'conversation:5001')).toMatchObject({
    status: 'closed',
    platform: 'email',
    subject: 'Engine',
    language: null,
    team: 'cw:50:team:5001',
    operator: 'cw:50:operator:5002',
    rating_score: 5,
    rating_label: `${'é'.repeat(119)}…`,
    updated_at: '2026-01-04T00:00:00.000000Z',
    closed_at: '2026-01-03T05:00:00.000000Z',
    message_count: 5,
    bot_messages: 1,
  });
  expect(row('conversation', 'conversation:5002')).toMatchObject({
    rating_label: '4',
    closed_at: '2026-01-03T00:00:00.000000Z',
    first_visitor_at: '2023-11-14T22:13:20.000000Z',
  });
  expect(row('conversation', 'conversation:5003')).toMatchObject({ status: 'assigned', closed_at: null });
  expect(row('message', 'message:90001')).toMatchObject({
    kind: 'html',
    text: 'Hi & bye',
    author_type: 'visitor',
    author: 'cw:50:visitor:5001',
    delivery_status: 'read',
  });
  expect(row('message', 'message:90002')).toMatchObject({
    visibility: 'internal',
    author: 'cw:50:operator:5001',
    in_reply_to: 'cw:50:message:90001',
  });
  expect(row('message', 'message:90003')).toMatchObject({
    in_reply_to: null,
    created_at: '2023-11-14T22:13:20.000000Z',
    delivery_status: 'failed',
  });
  expect(row('message', 'message:90004')).toMatchObject({ redacted: true, text: null, author_type: 'operator' });
  expect(row('message', 'message:90005')).toMatchObject({
    kind: 'form',
    author_type: 'bot',
    author: 'cw:50:agent_bot:5001',
  });
  expect(row('message', 'message:90006')).toMatchObject({ kind: 'event', author_type: 'system', author: null });
  expect(row('message', 'message:90007')).toMatchObject({
    kind: 'attachment_only',
    author_type: 'system',
    text: null,
    delivery_status: 'unknown',
    attachment_count: 1,
  });
  expect(row('file', 'file:90001')).toMatchObject({
    name: 'b.bin',
    media_type: 'application/octet-stream',
    size: 7,
    message: 'cw:50:message:90007',
  });
  expect([...world.note.keys()]).toEqual(['cw:50:note:5001:5001', 'cw:50:note:5001:5002']);
});

test('difference finds each kind of planted difference, and bounds the list', async () => {
  const world = await expected(sql, { account: 1 });
  expect(difference(world, world).count).toBe(0);
  const plant = (type: Stored, edit: (rows: Map<string, Held>) => void): Record<string, number> => {
    const other = { ...world, [type]: new Map(world[type]) };
    edit(other[type]);
    return difference(world, other).kinds;
  };
  const [[id, held] = ['', { members: {}, optional: false }]] = [...world.message];
  expect(plant('message', (rows) => rows.delete(id))).toEqual({ 'message missing': 1 });
  expect(plant('message', (rows) => rows.set('cw:2:message:1', held))).toEqual({ 'message superfluous': 1 });
  const members = { ...held.members, text: 'other' };
  expect(plant('message', (rows) => rows.set(id, { ...held, members }))).toEqual({ 'message different text': 1 });
  const [[visitor, link] = ['', held]] = [...world.visitor];
  const moved = { ...link, members: { ...link.members, contacts: ['cw:1:contact:0'] } };
  expect(plant('visitor', (rows) => rows.set(visitor, moved))).toEqual({ 'visitor different contacts': 1 });
  expect(
    plant('operator', (rows) => rows.set('cw:1:operator:1', { members: {}, optional: false }))[
      'operator different role'
    ],
  ).toBe(1);
  const all = difference(world, emptyWorld(), 3);
  expect(all.list.filter(({ type }) => type === 'message')).toHaveLength(3);
  expect(all.count).toBeGreaterThan(500);
  const optional = { ...world, operator: new Map([['cw:1:operator:7', { members: {}, optional: true }]]) };
  expect(difference(optional, { ...world, operator: new Map() }).count).toBe(0);
});

test('the simulator goes on after a crash of PostgreSQL, and still ends at rest', async () => {
  const cluster = await openCluster();
  const pool = openChatwoot({ host: '127.0.0.1', port: cluster.port, database: 'postgres', username: 'postgres' });
  try {
    await createChatwoot(pool);
    await populate(pool, { conversations: 50, messages: 200, seed: 2 });
    const running = simulate(pool, { seed: 3, seconds: 4, rate: 100 });
    await pause(1_500);
    await cluster.kill();
    await pause(500);
    await cluster.start();
    const { actions, forgotten, transactions } = await running;
    expect(actions).toBe(400);
    expect(forgotten).toBeGreaterThan(0);
    expect(transactions).toBeGreaterThan(600);
    const [orphans] =
      await pool`SELECT count(*) AS n FROM messages m WHERE NOT EXISTS (SELECT FROM conversations c WHERE c.id = m.conversation_id)`;
    expect(Number(orphans?.['n'])).toBe(0);
  } finally {
    await pool.end({ timeout: 1 });
    await cluster.close();
  }
}, 60_000);

function sizes(world: World): Record<string, number> {
  return Object.fromEntries(
    Object.entries(world).flatMap(([type, rows]) => (rows.size === 0 ? [] : [[type, rows.size]])),
  );
}

/** The expected rows as records of the file import. */
function recordsOf(world: World): ImportRecordInput[] {
  const records: unknown[] = [];
  const organization = [...world.organization.keys()][0];
  const website = [...world.website.keys()][0];
  const totals = /_count$|_messages$|_message_at$|^first_(visitor|reply|operator_reply)_at$/;
  for (const [type, rows] of Object.entries(world)) {
    for (const [external_id, { members }] of rows) {
      const { mobile_e164: _, rating_label: label, rating_score: score, size, redacted, kind, text, ...rest } = members;
      const kept = Object.entries(rest).filter(
        ([name, value]) => value !== null && value !== undefined && !totals.test(name),
      );
      records.push({
        type,
        external_id,
        ...Object.fromEntries(kept),
        ...(type === 'organization' ? { name: 'Account' } : {}),
        ...(type === 'website' ? { organization } : {}),
        ...(type === 'operator' ? { organization, websites: [website] } : {}),
        ...(['channel', 'team', 'contact', 'visitor', 'saved_response', 'conversation'].includes(type)
          ? { website }
          : {}),
        ...(label === null || label === undefined ? {} : { rating: { label, score } }),
        ...(type === 'file' ? { content_base64: '' } : {}),
        ...(type === 'note' ? { text } : {}),
        // An expected text is plain, so the import must not convert it again.
        ...(type === 'message'
          ? { kind: kind === 'html' ? 'text' : kind, redacted, ...(text === null ? {} : { text }) }
          : {}),
      });
    }
  }
  return records as ImportRecordInput[]; // the importer checks every record
}
