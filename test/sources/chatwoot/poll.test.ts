import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDesk } from '../../../src/sources/chatwoot/desk.ts';
import { nextRound } from '../../../src/sources/chatwoot/poll.ts';
import { type Ids, idsShape, NUMBERED } from '../../../src/sources/chatwoot/poll-ids.ts';
import { Polled, unknownOf } from '../../../src/sources/chatwoot/poll-known.ts';
import { type Change, type Position, PositionLost, type Source } from '../../../src/sources/source.ts';
import { openDatabase } from '../../../src/store/driver/postgres.ts';
import { attachment, conversation, message, put, seed } from '../../support/chatwoot/source-rows.ts';
import { type ChatwootWorld, chatwootWorld, followed, recordsIn } from '../../support/chatwoot/source-world.ts';

let world: ChatwootWorld;
let source: Source;
let place: Position;

beforeEach(async () => {
  world = await chatwootWorld();
  await world.grant('poll');
  await seed(world.sql);
  await message(world.sql, 1);
  source = world.open({ mode: 'poll' });
  place = await source.begin();
  // The first rounds tell the newest rows once more.
  await expect.poll(async () => told(await round()).slice(5), { timeout: 10_000 }).toEqual([]);
});
afterEach(() => world.close());

const told = (changes: readonly Change[]): string[] => recordsIn(changes).map(({ external_id }) => external_id);
const round = async (): Promise<Change[]> => {
  const { changes, after } = await followed(source, place);
  place = after;
  return changes;
};
/** What Rails does: the times of a new or changed row are the present. */
const NOW = { created_at: 'now', updated_at: 'now' };

test('tables with few rows are told whole in each round, and their deleted rows are gone', async () => {
  const { sql } = world;
  expect(told(await round())).toEqual([
    'cw:1:organization:1',
    'cw:1:website:1',
    'cw:1:channel:1',
    'cw:1:team:1',
    'cw:1:operator:1',
  ]);
  await sql`UPDATE inboxes SET name = 'New name'`;
  await sql`DELETE FROM teams`;
  await put(sql, 'canned_responses', { id: 1, account_id: 1, short_code: 'hi', content: 'x' });
  const changes = await round();
  expect(recordsIn(changes).find(({ type }) => type === 'channel')).toMatchObject({ name: 'New name' });
  expect(told(changes)).toContain('cw:1:saved_response:1');
  expect(changes).toContainEqual({ from: 'teams/0', only: { of: 'team', prefix: 'cw:1:team:' }, keep: [] });
  expect(changes).toContainEqual({
    from: 'users/0',
    only: { of: 'operator', prefix: 'cw:1:operator:' },
    keep: ['cw:1:operator:1'],
  });
});

test('an operator who leaves is told once as disabled, although nothing names the operator', async () => {
  await round();
  await world.sql`DELETE FROM account_users`;
  expect(recordsIn(await round()).filter(({ type }) => type === 'operator')).toMatchObject([{ enabled: false }]);
  expect(told(await round())).not.toContain('cw:1:operator:1');
});

test('new and changed rows of the large tables are told, and unchanged rows are not', async () => {
  const { sql } = world;
  await put(sql, 'contacts', { id: 2, account_id: 1, name: 'New', ...NOW });
  await put(sql, 'contact_inboxes', { id: 2, contact_id: 2, inbox_id: 1, source_id: 's2', ...NOW });
  await conversation(sql, 2, { contact_id: 2, contact_inbox_id: 2, last_activity_at: 'now', ...NOW });
  await message(sql, 2, { conversation_id: 2, ...NOW });
  await attachment(sql, 2, 2, {});
  await sql`UPDATE active_storage_attachments SET created_at = now() AT TIME ZONE 'UTC'`;
  await put(sql, 'notes', { id: 2, account_id: 1, contact_id: 2, content: 'x', ...NOW });
  const after = told(await round());
  expect(after.slice(5)).toEqual([
    'cw:1:contact:2',
    'cw:1:visitor:2',
    'cw:1:note:2:2',
    'cw:1:conversation:2',
    'cw:1:message:2',
    'cw:1:file:2',
    'cw:1:note:2:2',
  ]);
});

test('activity, a rating and a closing tell the conversation, and a visit tells the visitor', async () => {
  const { sql } = world;
  for (const id of [2, 3, 4, 5]) await conversation(sql, id);
  await sql`UPDATE conversations SET last_activity_at = now() AT TIME ZONE 'UTC' WHERE id = 2`;
  await put(sql, 'csat_survey_responses', {
    account_id: 1,
    conversation_id: 3,
    message_id: 1,
    rating: 5,
    contact_id: 1,
    ...NOW,
  });
  await put(sql, 'reporting_events', { account_id: 1, conversation_id: 4, name: 'conversation_resolved', ...NOW });
  await sql`UPDATE conversations SET contact_last_seen_at = now() AT TIME ZONE 'UTC', updated_at = now() AT TIME ZONE 'UTC' WHERE id = 5`;
  const after = told(await round());
  expect(after.filter((id) => id.includes(':conversation:'))).toEqual(
    [2, 3, 4, 5].map((id) => `cw:1:conversation:${id}`),
  );
  expect(after).toContain('cw:1:visitor:1');
});

test('a row comes again when it changes once more, when it was read in another way, and when a file of its message goes', async () => {
  const { sql } = world;
  const news = async (): Promise<string[]> => told(await round()).slice(5);
  await message(sql, 40, NOW);
  await attachment(sql, 40, 40);
  await attachment(sql, 41, 40);
  await sql`UPDATE attachments SET updated_at = now() AT TIME ZONE 'UTC'`;
  expect(await news()).toContain('cw:1:message:40');
  // The row is still in the window. Polling has told it, so it does not read it again.
  expect(await news()).toEqual([]);
  await sql`UPDATE messages SET content = 'second' WHERE id = 40`;
  expect(await news()).toEqual(['cw:1:message:40']);
  await sql`DELETE FROM attachments WHERE id = 41`;
  expect(await round()).toContainEqual({
    from: 'messages/40',
    only: { of: 'file', prefix: 'cw:1:file:', owner: 'cw:1:message:40' },
    keep: ['cw:1:file:40'],
  });
  expect(await news()).toEqual([]);
  for await (const changes of source.reread(['messages/40'])) expect(changes).not.toEqual([]);
  expect(await news()).toEqual(['cw:1:message:40']);
  await source.load(null);
  expect(await news()).toContain('cw:1:message:40');
});

test('the digests of a row are of one reader, so nobody can search for two texts with the same digest', async () => {
  const db = openDatabase({ target: world.address(), connections: 1, statementTimeout: 10_000, name: 'test' });
  const desk = await openDesk(db, {
    account: 1,
    timeZone: 'UTC',
    organization: 'o',
    makesOrganization: true,
    storage: false,
  });
  const readers = [new Polled(), new Polled()];
  const digests = async () =>
    (await Promise.all(readers.map((one) => unknownOf(desk, 'messages', ['1'], one)))).map((found) =>
      found.digests(['1']),
    );
  const [first, again] = [await digests(), await digests()];
  await db.close();
  expect(again).toEqual(first);
  expect(first.flat().map(([row]) => row)).toEqual(['messages/1', 'messages/1']);
  expect(new Set(first.flat().map(([, digest]) => digest)).size).toBe(2);
});

test('a deleted message tells that its files are gone', async () => {
  const { sql } = world;
  await attachment(sql, 1, 1);
  await sql`UPDATE messages SET content_attributes = '{"deleted":true}', updated_at = now() AT TIME ZONE 'UTC'`;
  await sql`DELETE FROM attachments`;
  const changes = await round();
  expect(recordsIn(changes)).toContainEqual(expect.objectContaining({ external_id: 'cw:1:message:1', redacted: true }));
  expect(changes).toContainEqual({
    from: 'messages/1',
    only: { of: 'file', prefix: 'cw:1:file:', owner: 'cw:1:message:1' },
    keep: [],
  });
});

test('a clock of the application that is half a minute slow loses nothing', async () => {
  await round();
  await round();
  await message(world.sql, 2, { created_at: 'now', updated_at: new Date(Date.now() - 30_000).toISOString() });
  expect(told(await round())).toContain('cw:1:message:2');
});

test('a transaction that commits long after its times is told', async () => {
  const late = world.connect();
  await late.unsafe('BEGIN');
  // The overlap of 61 seconds does not reach this time. The window stays open, because the transaction is open.
  await message(late, 10, { updated_at: new Date(Date.now() - 300_000).toISOString() });
  place = await source.begin();
  await round();
  await round();
  await late.unsafe('COMMIT');
  expect(told(await round())).toContain('cw:1:message:10');
  // The window moves on. Transactions of other tests on the same server can hold the window for some rounds.
  await expect.poll(async () => told(await round()), { timeout: 10_000 }).not.toContain('cw:1:message:10');
});

test('a window begins at the newest mark whose transactions have all ended', () => {
  const at = (minute: number): string => new Date(Date.UTC(2026, 10, 1, 10, minute)).toISOString();
  const all = (n: number): Ids => idsShape.parse(Object.fromEntries(NUMBERED.map((name) => [name, n])));
  const first = {
    low: at(0),
    from: all(0),
    settled: all(0),
    reached: all(0),
    marks: [{ at: at(1), next: '100', ids: all(1) }],
    members: [] as string[],
  };
  // Transaction 90 is open at 10:02, so the window does not move.
  const second = nextRound(first, { at: at(2), xmin: '90', next: '120', ids: all(2) });
  expect(second.low).toBe(at(0));
  // It has ended at 10:03. Transaction 110 is open, so the window moves to the mark before 110.
  const third = nextRound({ ...first, ...second }, { at: at(3), xmin: '110', next: '130', ids: all(3) });
  expect(third.low).toBe(at(1));
  // The ids follow one round later.
  expect([third.from, third.settled]).toEqual([all(0), all(1)]);
  const fourth = nextRound({ ...first, ...third }, { at: at(4), xmin: '130', next: '140', ids: all(4) });
  expect(fourth.low).toBe(at(3));
  expect([fourth.from, fourth.settled]).toEqual([all(1), all(3)]);
  expect(fourth.marks.map((mark) => mark.at)).toEqual([at(3), at(4)]);
  // A transaction that is open for more than an hour does not hold the window.
  const hour = nextRound({ ...first, ...fourth }, { at: at(90), xmin: '110', next: '150', ids: all(90) });
  expect(hour.low).toBe(at(30));
  // The marks do not grow without end.
  let long = first;
  for (let i = 0; i < 500; i += 1) {
    long = {
      ...first,
      ...nextRound(long, {
        at: new Date(Date.UTC(2026, 10, 1, 10, 1, i)).toISOString(),
        xmin: '90',
        next: `${200 + i}`,
        ids: all(i),
      }),
    };
  }
  expect(long.marks.length).toBeLessThanOrEqual(101);
  expect(long.low).toBe(at(0));
});

test('a large round has several pages and loses nothing', async () => {
  await world.sql`INSERT INTO messages (id, account_id, inbox_id, conversation_id, message_type, content, created_at, updated_at)
    SELECT n, 1, 1, 1, 0, 'x', '2026-11-01', now() AT TIME ZONE 'UTC' FROM generate_series(100, 5099) n`;
  let pages = 0;
  const seen = new Set<string>();
  for (let more = true; more; pages += 1) {
    const page = await source.changes(place);
    for (const id of told(page.changes)) seen.add(id);
    place = page.after ?? place;
    ({ more } = page);
  }
  expect(pages).toBe(3);
  expect([...seen].filter((id) => id.includes(':message:'))).toHaveLength(5000);
  expect(place['running']).toBeNull();
  expect(await source.behind(place)).toMatchObject({ changes: null });
});

/** What an import into Chatwoot writes: times of the past. */
const PAST = { created_at: '2019-03-01', updated_at: '2019-03-01' };

test('new rows with times of the past are told, and no longer in later rounds', async () => {
  const { sql } = world;
  await round();
  await put(sql, 'contacts', { id: 20, account_id: 1, name: 'Imported', ...PAST });
  await put(sql, 'contact_inboxes', { id: 20, contact_id: 20, inbox_id: 1, source_id: 's20', ...PAST });
  await conversation(sql, 20, { contact_id: 20, contact_inbox_id: 20, last_activity_at: '2019-03-01', ...PAST });
  await message(sql, 20, { conversation_id: 20, ...PAST });
  await attachment(sql, 20, 20, {});
  await sql`UPDATE attachments SET created_at = '2019-03-01', updated_at = '2019-03-01' WHERE id = 20`;
  await put(sql, 'notes', { id: 20, account_id: 1, contact_id: 20, content: 'x', ...PAST });
  // A rating and a closing of an old conversation, and a conversation of a known visitor.
  await put(sql, 'csat_survey_responses', {
    account_id: 1,
    conversation_id: 1,
    message_id: 1,
    rating: 5,
    contact_id: 1,
    ...PAST,
  });
  await conversation(sql, 21, { last_activity_at: '2019-03-01', contact_last_seen_at: '2019-03-01', ...PAST });
  await sql`UPDATE conversations SET status = 1 WHERE id = 1`;
  const first = told(await round()).slice(5);
  expect([...new Set(first)].sort()).toEqual(
    [
      'contact:20',
      'conversation:1',
      'conversation:20',
      'conversation:21',
      'file:20',
      'message:20',
      'note:20:20',
      'visitor:1',
      'visitor:20',
    ].map((id) => `cw:1:${id}`),
  );
  // The closing of a conversation that is closed gives it another time of its end.
  await put(sql, 'reporting_events', { account_id: 1, conversation_id: 1, name: 'conversation_resolved', ...PAST });
  expect(told(await round())).toContain('cw:1:conversation:1');
  // Transactions of other tests on the same server can hold the ids for some rounds.
  await expect.poll(async () => told(await round()).slice(5), { timeout: 10_000 }).toEqual([]);
});

test('a row with times of the past is told, although its transaction commits after rows with larger ids were told', async () => {
  const late = world.connect();
  await round();
  await late.unsafe('BEGIN');
  await message(late, 30, PAST);
  await message(world.sql, 31, PAST);
  for (let i = 0; i < 3; i++) expect(told(await round())).not.toContain('cw:1:message:30');
  await late.unsafe('COMMIT');
  expect(told(await round())).toContain('cw:1:message:30');
});

test('a round tells a bounded number of new rows, and rows of other accounts between them cost no page', async () => {
  const { sql } = world;
  await round();
  await sql`INSERT INTO contacts (id, account_id, name, created_at, updated_at)
    SELECT n, CASE WHEN n % 20000 = 0 THEN 1 ELSE 2 END, 'x', '2019-03-01', '2019-03-01' FROM generate_series(100000, 220000) n`;
  let pages = 0;
  const seen: string[] = [];
  for (let more = true; more; pages += 1) {
    const page = await source.changes(place);
    seen.push(...told(page.changes).filter((id) => id.startsWith('cw:1:contact:')));
    place = page.after ?? place;
    ({ more } = page);
  }
  expect([...new Set(seen)]).toHaveLength(7);
  // Each round walks 50,000 ids.
  expect(pages).toBe(3);
});

test('a place of live mode is lost', async () => {
  await expect(source.changes({ from: '1:1:', to: null, seq: 0 })).rejects.toThrow(PositionLost);
});

test('labels, attributes and other values without a place are counted', async () => {
  const { sql } = world;
  await sql`UPDATE contacts SET custom_attributes = '{"a": 1, "b": 2}'`;
  await sql`UPDATE conversations SET custom_attributes = '"scalar"'`;
  await conversation(sql, 2, { custom_attributes: { c: 1 } });
  await put(sql, 'contacts', { id: 9, account_id: 2, name: 'x', custom_attributes: { d: 1 } });
  for (const [type, id] of [
    ['Conversation', 1],
    ['Conversation', 2],
    ['Contact', 1],
    ['Contact', 9],
  ] as const) {
    await put(sql, 'taggings', { tag_id: id, taggable_type: type, taggable_id: id, context: 'labels' });
  }
  await put(sql, 'taggings', { tag_id: 7, taggable_type: 'Contact', taggable_id: 1, context: 'other' });
  expect(await source.unmapped()).toEqual({ labels: 3, custom_attributes: 3, shortened_texts: 0 });
});
