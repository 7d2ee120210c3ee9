import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Change, PositionLost, type Source } from '../../../src/sources/source.ts';
import { attachment, conversation, message, put, seed } from '../../support/chatwoot/source-rows.ts';
import { type ChatwootWorld, chatwootWorld, followed, goneIn, recordsIn } from '../../support/chatwoot/source-world.ts';
import { collected } from '../../support/sources.ts';

let world: ChatwootWorld;
let source: Source;

beforeEach(async () => {
  world = await chatwootWorld();
  await seed(world.sql);
  await message(world.sql, 1);
  await world.grant('live');
  source = world.open();
});
afterEach(() => world.close());

const names = (changes: readonly Change[]): string[] => [...new Set(changes.map(({ from }) => from))].sort();
const textOf = (changes: readonly Change[], id: number): unknown =>
  recordsIn(changes).find(({ external_id }) => external_id === `cw:1:message:${id}`)?.['text'];

test('a row of a transaction that commits late is told', async () => {
  const late = world.connect();
  const begun = await source.begin();
  await late.unsafe('BEGIN');
  await message(late, 10);
  await message(world.sql, 11);
  const first = await followed(source, begun);
  expect(names(first.changes)).toEqual(['messages/11']);
  await message(world.sql, 12);
  const second = await followed(source, first.after);
  expect(names(second.changes)).toEqual(['messages/12']);
  await late.unsafe('COMMIT');
  const third = await followed(source, second.after);
  expect(names(third.changes)).toEqual(['messages/10']);
  expect(names((await followed(source, third.after)).changes)).toEqual([]);
});

test('a row of a transaction that was open at the start of the load is told', async () => {
  const late = world.connect();
  await late.unsafe('BEGIN');
  await message(late, 10);
  const begun = await source.begin();
  await late.unsafe('COMMIT');
  expect(names((await followed(source, begun)).changes)).toEqual(['messages/10']);
});

test('a transaction that commits late between the pages of a round is told', async () => {
  const late = world.connect();
  const begun = await source.begin();
  await late.unsafe('BEGIN');
  await message(late, 9000);
  await world.sql`INSERT INTO messages (id, account_id, inbox_id, conversation_id, message_type, content, created_at, updated_at)
    SELECT n, 1, 1, 1, 0, 'x', '2026-11-01', '2026-11-01' FROM generate_series(100, 3000) n`;
  const page = await source.changes(begun);
  expect(page).toMatchObject({ more: true });
  await late.unsafe('COMMIT');
  const rest = await followed(source, page.after ?? {});
  expect(recordsIn([...page.changes, ...rest.changes]).filter(({ type }) => type === 'message')).toHaveLength(2901);
  expect(names((await followed(source, rest.after)).changes)).toEqual(['messages/9000']);
});

test('a rolled back change is not told, and the changes of another account are not told', async () => {
  const begun = await source.begin();
  await world.sql
    .begin(async (sql) => {
      await sql`UPDATE messages SET content = 'no' WHERE id = 1`;
      throw new Error('back');
    })
    .catch(() => undefined);
  await put(world.sql, 'inboxes', { id: 9, account_id: 2, channel_id: 1, name: 'Foreign' });
  await put(world.sql, 'contacts', { id: 9, account_id: 2, name: 'Foreign' });
  await conversation(world.sql, 9, { account_id: 2, contact_id: 9, inbox_id: 9, contact_inbox_id: null });
  await message(world.sql, 9, { account_id: 2, conversation_id: 9 });
  await put(world.sql, 'users', { id: 9, name: 'Foreign', email: 'f@example.org', uid: 'f' });
  expect((await followed(source, begun)).changes).toEqual([]);
  const other = world.open({ account: 2, reader: 'src_2' });
  const [entry] = await world.sql<
    { n: number }[]
  >`SELECT count(*)::integer AS n FROM gateway_outbox.change WHERE account_id = 2`;
  expect(entry?.n).toBe(4);
  const start = await other.begin();
  await world.sql`UPDATE messages SET content = 'yes' WHERE id = 9`;
  expect(names((await followed(other, start)).changes)).toEqual(['messages/9']);
});

test('each mapped column of each table is noted, and no other column is', async () => {
  const { sql } = world;
  await put(sql, 'agent_bots', { id: 1, account_id: 1, name: 'Bot' });
  await put(sql, 'captain_assistants', { id: 1, account_id: 1, name: 'Captain' });
  await attachment(sql, 1, 1);
  await put(sql, 'csat_survey_responses', {
    id: 1,
    account_id: 1,
    conversation_id: 1,
    message_id: 1,
    rating: 3,
    contact_id: 1,
  });
  await put(sql, 'reporting_events', { id: 1, account_id: 1, conversation_id: 1, name: 'conversation_resolved' });
  await put(sql, 'notes', { id: 1, account_id: 1, contact_id: 1, content: 'x' });
  await put(sql, 'canned_responses', { id: 1, account_id: 1, short_code: 'hi', content: 'x' });
  const updates: [string, string[]][] = [
    [`accounts SET name = 'n'`, ['accounts']],
    ['accounts SET locale = 3', ['accounts']],
    [`accounts SET domain = 'x', updated_at = now()`, []],
    ['account_users SET role = 0', ['members']],
    ['account_users SET availability = 1, active_at = now()', []],
    [`users SET name = 'x'`, ['users']],
    [`users SET display_name = 'x'`, ['users']],
    [`users SET email = 'x'`, []],
    [`users SET encrypted_password = 'x', sign_in_count = 3, current_sign_in_at = now()`, []],
    [`teams SET name = 'x'`, ['teams']],
    ['team_members SET team_id = 2', ['users']],
    [`agent_bots SET name = 'x'`, ['agent_bots']],
    [`captain_assistants SET name = 'x'`, ['captain_assistants']],
    [`inboxes SET name = 'x'`, ['inboxes']],
    [`inboxes SET channel_type = 'Channel::Api'`, ['inboxes']],
    ['inboxes SET greeting_enabled = true', []],
    [`contacts SET name = 'x'`, ['contacts']],
    [`contacts SET last_name = 'x'`, ['contacts']],
    [`contacts SET email = 'x'`, ['contacts']],
    [`contacts SET phone_number = '1'`, ['contacts']],
    ['contacts SET blocked = true', ['contacts']],
    [`contacts SET country_code = 'DE'`, ['contacts']],
    [`contacts SET additional_attributes = '{"company_name": "x"}'`, ['contacts']],
    [`contacts SET created_at = '2020-01-01'`, ['contacts']],
    [`contacts SET last_activity_at = now(), updated_at = now(), custom_attributes = '{"a":1}'`, []],
    ['contact_inboxes SET contact_id = 2', ['contact_inboxes']],
    ['contact_inboxes SET inbox_id = 2', ['contact_inboxes']],
    ['contact_inboxes SET hmac_verified = true, updated_at = now()', []],
    ['conversations SET status = 2', ['conversations']],
    ['conversations SET assignee_id = 1', ['conversations']],
    ['conversations SET team_id = 1', ['conversations']],
    ['conversations SET inbox_id = 2', ['conversations']],
    ['conversations SET contact_id = 2', ['conversations']],
    ['conversations SET contact_inbox_id = 2', ['conversations']],
    [`conversations SET additional_attributes = '{"a":1}'`, ['conversations']],
    ['conversations SET first_reply_created_at = now()', ['conversations']],
    ['conversations SET last_activity_at = now()', ['conversations']],
    [`conversations SET updated_at = '2020-01-01'`, ['conversations']],
    [`conversations SET created_at = '2020-01-01'`, ['conversations']],
    ['conversations SET contact_last_seen_at = now()', ['contact_inboxes']],
    [
      `conversations SET agent_last_seen_at = now(), assignee_last_seen_at = now(), waiting_since = now(), priority = 1,
      snoozed_until = now(), custom_attributes = '{"a":2}', cached_label_list = 'x'`,
      [],
    ],
    [`messages SET content = 'x'`, ['messages']],
    ['messages SET message_type = 1', ['messages']],
    ['messages SET private = true', ['messages']],
    ['messages SET status = 2', ['messages']],
    ['messages SET content_type = 6', ['messages']],
    [`messages SET content_attributes = '{"deleted":true}'`, ['messages']],
    [`messages SET sender_type = 'User'`, ['messages']],
    ['messages SET sender_id = 7', ['messages']],
    [`messages SET created_at = '2020-01-01'`, ['messages']],
    [`messages SET processed_message_content = 'x', sentiment = '{"a":1}', updated_at = now(), source_id = 'x'`, []],
    [`attachments SET created_at = '2020-01-01'`, ['attachments']],
    ['attachments SET file_type = 3, updated_at = now()', []],
    [`active_storage_blobs SET content_type = 'x/y'`, ['blobs']],
    [`active_storage_blobs SET filename = 'y'`, ['blobs']],
    [`active_storage_blobs SET metadata = '{}'`, []],
    [`active_storage_attachments SET name = 'y'`, ['attachments']],
    ['csat_survey_responses SET rating = 1', ['conversations']],
    [`csat_survey_responses SET feedback_message = 'x'`, ['conversations']],
    ['reporting_events SET event_end_time = now()', ['conversations']],
    ['reporting_events SET value = 7', []],
    [`notes SET content = 'y'`, ['notes']],
    ['notes SET user_id = 1', ['notes']],
    [`canned_responses SET content = 'y'`, ['canned_responses']],
    [`canned_responses SET short_code = 'y'`, ['canned_responses']],
  ];
  const noted: [string, string[]][] = [];
  for (const [update] of updates) {
    await sql`TRUNCATE gateway_outbox.change`;
    await sql.unsafe(
      `UPDATE public.${update} WHERE ${update.startsWith('team_members') || update.startsWith('account_users') ? 'user_id' : 'id'} = 1`,
    );
    const rows = await sql<{ kind: string }[]>`SELECT DISTINCT kind FROM gateway_outbox.change ORDER BY 1`;
    noted.push([update, rows.map(({ kind }) => kind)]);
  }
  expect(noted).toEqual(updates);
});

test('a bulk update tells each row, also after an update of one row, without a nested loop', async () => {
  const { sql } = world;
  await sql`INSERT INTO messages (id, account_id, inbox_id, conversation_id, message_type, content, created_at, updated_at)
    SELECT n, 1, 1, 1, 0, 'x', '2026-11-01', '2026-11-01' FROM generate_series(100, 10099) n`;
  const begun = await source.begin();
  for (let i = 0; i < 7; i += 1) await sql`UPDATE messages SET status = ${i % 3} WHERE id = 100`;
  const started = performance.now();
  await sql`UPDATE messages SET status = 2 WHERE id >= 101`;
  // A nested loop compares 100 million pairs of rows. That takes more than eight seconds.
  expect(performance.now() - started).toBeLessThan(4_000);
  const { changes } = await followed(source, begun);
  expect(names(changes)).toHaveLength(10_000);
});

test('hard deletes tell what is gone, and a merge moves the rows first', async () => {
  const { sql } = world;
  await put(sql, 'contacts', { id: 2, account_id: 1, name: 'Double' });
  await put(sql, 'contact_inboxes', { id: 2, contact_id: 2, inbox_id: 1, source_id: 's2' });
  await put(sql, 'notes', { id: 1, account_id: 1, contact_id: 1, content: 'of one' });
  await put(sql, 'notes', { id: 2, account_id: 1, contact_id: 2, content: 'of two' });
  await conversation(sql, 2, { contact_id: 2, contact_inbox_id: 2 });
  const begun = await source.begin();
  await sql`UPDATE conversations SET contact_id = 1 WHERE contact_id = 2`;
  await sql`UPDATE contact_inboxes SET contact_id = 1 WHERE contact_id = 2`;
  await sql`UPDATE notes SET contact_id = 1 WHERE contact_id = 2`;
  await sql`DELETE FROM contacts WHERE id = 2`;
  const merged = await followed(source, begun);
  expect(goneIn(merged.changes)).toEqual(['cw:1:contact:2']);
  const records = new Map(recordsIn(merged.changes).map((one) => [one.external_id, one]));
  expect(records.get('cw:1:conversation:2')).toMatchObject({ contacts: ['cw:1:contact:1'], visitor: 'cw:1:visitor:2' });
  expect(records.get('cw:1:visitor:2')).toMatchObject({ contacts: ['cw:1:contact:1'] });
  expect([...records.keys()].filter((id) => id.includes(':note:')).sort()).toEqual([
    'cw:1:note:1:2',
    'cw:1:note:2:1',
    'cw:1:note:2:2',
  ]);
  expect(merged.changes).toContainEqual({
    from: 'contact_inboxes/2',
    only: { of: 'note', prefix: 'cw:1:note:', owner: 'cw:1:visitor:2' },
    keep: ['cw:1:note:1:2', 'cw:1:note:2:2'],
  });
  await sql`DELETE FROM conversations WHERE id = 1`;
  await sql`DELETE FROM notes WHERE id = 1`;
  await sql`DELETE FROM account_users WHERE user_id = 1`;
  const deleted = await followed(source, merged.after);
  expect(goneIn(deleted.changes)).toEqual(['cw:1:conversation:1']);
  expect(deleted.changes).toContainEqual({ from: 'notes/1', only: { of: 'note', prefix: 'cw:1:note:1:' }, keep: [] });
  expect(recordsIn(deleted.changes)).toMatchObject([{ external_id: 'cw:1:operator:1', enabled: false, teams: [] }]);
  // The conversation takes its messages along. Its message is an orphan, and an update of an orphan is no record.
  await sql`UPDATE messages SET content = 'late' WHERE id = 1`;
  const orphan = await followed(source, deleted.after);
  expect(goneIn(orphan.changes)).toEqual(['cw:1:message:1']);
});

test('a deleted row of each kind tells that the row is gone', async () => {
  const { sql } = world;
  await message(sql, 2, { sender_type: 'AgentBot', sender_id: 1 });
  await message(sql, 3, { sender_type: 'Captain::Assistant', sender_id: 1 });
  await message(sql, 4);
  await attachment(sql, 1, 4);
  await put(sql, 'agent_bots', { id: 1, account_id: 1, name: 'Bot' });
  await put(sql, 'captain_assistants', { id: 1, account_id: 1, name: 'Captain' });
  await put(sql, 'canned_responses', { id: 1, account_id: 1, short_code: 'a', content: 'x' });
  await conversation(sql, 2);
  const rows = {
    attachments: ['file:1', 1],
    messages: ['message:4', 4],
    conversations: ['conversation:2', 2],
    canned_responses: ['saved_response:1', 1],
    agent_bots: ['agent_bot:1', 1],
    captain_assistants: ['assistant:1', 1],
    team_members: [undefined, 1],
    teams: ['team:1', 1],
    contact_inboxes: ['visitor:1', 1],
    contacts: ['contact:1', 1],
    inboxes: ['channel:1', 1],
    account_users: [undefined, 1],
    users: ['operator:1', 1],
  } as const;
  let after = (await followed(source, await source.begin())).after;
  for (const [table, [gone, id]] of Object.entries(rows)) {
    await sql.unsafe(`DELETE FROM ${table} WHERE id = ${id}`);
    const page = await followed(source, after);
    after = page.after;
    expect([table, goneIn(page.changes)]).toEqual([table, gone === undefined ? [] : [`cw:1:${gone}`]]);
  }
});

test('a deleted message loses its text, and its files go', async () => {
  const { sql } = world;
  await attachment(sql, 1, 1);
  const begun = await source.begin();
  await sql`UPDATE messages SET content = 'This message was deleted', content_attributes = '"{\\"deleted\\":true}"' WHERE id = 1`;
  await sql`DELETE FROM active_storage_attachments WHERE record_id = 1`;
  await sql`DELETE FROM attachments WHERE id = 1`;
  const { changes } = await followed(source, begun);
  expect(goneIn(changes)).toEqual(['cw:1:file:1']);
  expect(recordsIn(changes)).toMatchObject([{ external_id: 'cw:1:message:1', redacted: true }]);
  expect(textOf(changes, 1)).toBeUndefined();
});

test('the rows that a row names come along when the outbox still has them', async () => {
  const { sql } = world;
  const begun = await source.begin();
  const late = world.connect();
  // The update of the message is read together with rows that commit later than the round begins.
  await late.unsafe('BEGIN');
  await put(late, 'contacts', { id: 5, account_id: 1, name: 'New' });
  await put(late, 'contact_inboxes', { id: 5, contact_id: 5, inbox_id: 1, source_id: 's5' });
  await late`UPDATE conversations SET contact_inbox_id = 5, contact_id = 5 WHERE id = 1`;
  await message(sql, 2);
  const [now] = await sql<{ snapshot: string }[]>`SELECT pg_current_snapshot()::text AS snapshot`;
  await late.unsafe('COMMIT');
  const page = await source.changes({ from: begun['from'], to: now?.snapshot, seq: 0 });
  expect(names(page.changes)).toEqual(['contact_inboxes/5', 'contacts/5', 'conversations/1', 'messages/2']);
});

test('a truncated table, a broken trigger and a lost reader make the source start over', async () => {
  const { sql } = world;
  const begun = await source.begin();
  await sql`TRUNCATE csat_survey_responses`;
  await expect(source.changes(begun)).rejects.toThrow(PositionLost);
  const again = await source.begin();
  // A new version of Chatwoot drops a column that the trigger compares. Chatwoot must not notice.
  await sql`ALTER TABLE canned_responses RENAME short_code TO code`;
  await put(sql, 'canned_responses', { id: 3, account_id: 1, code: 'a', content: 'x' });
  await sql`UPDATE canned_responses SET content = 'y' WHERE id = 3`;
  expect((await sql`SELECT content FROM canned_responses WHERE id = 3`)[0]).toEqual({ content: 'y' });
  await expect(source.changes(again)).rejects.toThrow(PositionLost);
  const third = await source.begin();
  await sql`DELETE FROM gateway_outbox.reader`;
  await expect(source.changes(third)).rejects.toThrow(PositionLost);
  await expect(source.changes({ nonsense: 1 })).rejects.toThrow(PositionLost);
  const fourth = await source.begin();
  await expect(source.changes({ ...fourth, from: '999999:999999:' })).rejects.toThrow(PositionLost);
});

test('a missing outbox table does not break Chatwoot', async () => {
  const { sql } = world;
  await sql`DROP TABLE gateway_outbox.change`;
  await sql`UPDATE messages SET content = 'still writes' WHERE id = 1`;
  expect((await sql`SELECT content FROM messages WHERE id = 1`)[0]).toEqual({ content: 'still writes' });
});

test('entries stay until all readers have read them, and a reader that is away for a week does not hold them', async () => {
  const { sql } = world;
  const count = async (): Promise<number> =>
    (await sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM gateway_outbox.change`)[0]?.n ?? -1;
  const second = world.open({ reader: 'src_2' });
  let mine = await source.begin();
  let other = await second.begin();
  await message(sql, 50);
  mine = (await followed(source, mine)).after;
  mine = (await followed(source, mine)).after;
  expect(await count()).toBe(1);
  const told = await followed(second, other);
  expect(names(told.changes)).toEqual(['messages/50']);
  other = told.after;
  // A transaction of any other database of the server holds entries too, so the reader reads until they are gone.
  const gone = async (): Promise<number> => {
    other = (await followed(second, other)).after;
    mine = (await followed(source, mine)).after;
    return count();
  };
  await expect.poll(gone, { timeout: 10_000 }).toBe(0);
  await message(sql, 51);
  await sql`UPDATE gateway_outbox.reader SET at = now() - interval '8 days' WHERE name = 'src_2'`;
  const alone = async (): Promise<number> => {
    mine = (await followed(source, mine)).after;
    return count();
  };
  await expect.poll(alone, { timeout: 10_000 }).toBe(0);
  await expect(second.changes(other)).rejects.toThrow(PositionLost);
});

test('while one reader deletes entries, another reader neither waits nor ends in a deadlock', async () => {
  const begun = await source.begin();
  await message(world.sql, 60);
  const { after } = await followed(source, begun);
  const deleting = world.connect();
  await deleting.unsafe('BEGIN');
  await deleting`SELECT pg_advisory_xact_lock(hashtextextended('gateway_outbox.change', 0))`;
  await deleting`DELETE FROM gateway_outbox.change`;
  const read = await Promise.race([source.changes(after), pause(3_000).then(() => 'waits')]);
  expect(read).toMatchObject({ changes: [] });
  await deleting.unsafe('ROLLBACK');
});

test('a place that is older than what the reader has read makes the source start over', async () => {
  const old = await source.begin();
  await message(world.sql, 70);
  const read = await followed(source, old);
  // A page can fail, so the same place is read again.
  let { after } = await followed(source, read.after);
  await source.changes(read.after);
  // A transaction of any other database of the server holds the entry, so the reader reads until the entry is gone.
  const entries = async (): Promise<number> => {
    ({ after } = await followed(source, after));
    return (await world.sql`SELECT FROM gateway_outbox.change`).length;
  };
  await expect.poll(entries, { timeout: 10_000 }).toBe(0);
  await expect(source.changes(old)).rejects.toThrow(PositionLost);
});

test('the last reader takes all entries along', async () => {
  const { sql } = world;
  const count = async (): Promise<number> =>
    (await sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM gateway_outbox.change`)[0]?.n ?? -1;
  const second = world.open({ reader: 'src_2' });
  await source.begin();
  await second.begin();
  await sql`INSERT INTO gateway_outbox.change (kind, id) SELECT 'messages', n FROM generate_series(1, 45000) n`;
  await source.forget();
  expect(await count()).toBe(45_000);
  await second.forget();
  expect(await count()).toBe(0);
  expect(await sql`SELECT FROM gateway_outbox.reader`).toEqual([]);
});

test('behind counts seconds and changes, and a listener hears of a change', async () => {
  const begun = await source.begin();
  expect(await source.behind(begun)).toEqual({ seconds: 0, changes: 0 });
  let heard = 0;
  const stop = source.listen(() => {
    heard += 1;
  });
  await expect.poll(() => heard).toBe(1);
  await message(world.sql, 60);
  await expect.poll(() => heard).toBe(2);
  const behind = await source.behind(begun);
  expect(behind.changes).toBe(1);
  expect(behind.seconds).toBeGreaterThan(0);
  await stop();
});

test('rows can be read again, and missing records are named', async () => {
  const { sql } = world;
  await put(sql, 'notes', { id: 1, account_id: 1, contact_id: 1, content: 'x' });
  const rows = ['messages/1', 'messages/2', 'users/1', 'nonsense', 'pg_class/1', 'notes/1'];
  const again = (await collected(source.reread(rows))).flat();
  expect(
    recordsIn(again)
      .map(({ external_id }) => external_id)
      .sort(),
  ).toEqual(['cw:1:message:1', 'cw:1:note:1:1', 'cw:1:operator:1']);
  expect(goneIn(again)).toEqual(['cw:1:message:2']);
  const ids = ['cw:1:message:1', 'cw:1:message:2', 'cw:2:message:3', 'other'];
  expect(await source.missing('message', ids)).toEqual(['cw:1:message:2']);
  expect(await source.missing('note', ['cw:1:note:1:1', 'cw:1:note:1:2', 'cw:1:note:2:1'])).toEqual([
    'cw:1:note:1:2',
    'cw:1:note:2:1',
  ]);
  expect(
    await source.missing('operator', ['cw:1:operator:1', 'cw:1:operator:2', 'cw:1:agent_bot:1', 'cw:1:assistant:1']),
  ).toEqual(['cw:1:operator:2', 'cw:1:agent_bot:1', 'cw:1:assistant:1']);
  expect(await source.missing('website', ['cw:1:website:1'])).toEqual([]);
  expect(await source.missing('organization', ['cw:1:organization:1'])).toEqual([]);
});
