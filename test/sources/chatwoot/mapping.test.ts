import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { externalTime, localeTag } from '../../../src/sources/chatwoot/attributes.ts';
import { attachment, conversation, message, put, seed } from '../../support/chatwoot/source-rows.ts';
import {
  type ChatwootWorld,
  chatwootWorld,
  loaded,
  problemsOf,
  type Told,
} from '../../support/chatwoot/source-world.ts';

let world: ChatwootWorld;

beforeEach(async () => {
  world = await chatwootWorld();
  await world.grant('poll');
  await seed(world.sql);
});
afterEach(() => world.close());

const load = async (settings: Parameters<ChatwootWorld['open']>[0] = {}): Promise<Map<string, Told>> => {
  const records = await loaded(world.open({ mode: 'poll', ...settings }));
  expect(new Set(records.map(({ external_id }) => external_id)).size).toBe(records.length);
  return new Map(records.map((record) => [record.external_id, record]));
};

test('a small account gives its records in dependency order, and the import accepts each record', async () => {
  await message(world.sql, 1);
  await put(world.sql, 'canned_responses', { id: 1, account_id: 1, short_code: 'hi', content: 'Hallo' });
  await put(world.sql, 'notes', { id: 1, account_id: 1, contact_id: 1, user_id: 1, content: 'calls back' });
  const records = await loaded(world.open({ mode: 'poll' }));
  expect(records.flatMap(problemsOf)).toEqual([]);
  expect(records).toEqual([
    { type: 'organization', external_id: 'cw:1:organization:1', name: 'Northwind' },
    {
      type: 'website',
      external_id: 'cw:1:website:1',
      organization: 'cw:1:organization:1',
      name: 'Northwind',
      time_zone: 'Europe/Berlin',
    },
    { type: 'channel', external_id: 'cw:1:channel:1', website: 'cw:1:website:1', name: 'Site', platform: 'chat' },
    { type: 'team', external_id: 'cw:1:team:1', website: 'cw:1:website:1', name: 'support', enabled: true },
    {
      type: 'operator',
      external_id: 'cw:1:operator:1',
      organization: 'cw:1:organization:1',
      name: 'Ada',
      role: 'admin',
      enabled: true,
      websites: ['cw:1:website:1'],
      teams: ['cw:1:team:1'],
    },
    {
      type: 'contact',
      external_id: 'cw:1:contact:1',
      website: 'cw:1:website:1',
      name: 'Grace',
      email: 'grace@example.org',
      blocked: false,
      created_at: '2026-11-01T10:00:00.000000Z',
    },
    {
      type: 'visitor',
      external_id: 'cw:1:visitor:1',
      website: 'cw:1:website:1',
      contacts: ['cw:1:contact:1'],
      created_at: '2026-11-01T10:00:00.000000Z',
    },
    {
      type: 'saved_response',
      external_id: 'cw:1:saved_response:1',
      website: 'cw:1:website:1',
      language: 'de',
      label: 'hi',
      shortcut: 'hi',
      content: 'Hallo',
      category_name: 'Chatwoot',
      scope: 'global',
    },
    {
      type: 'conversation',
      external_id: 'cw:1:conversation:1',
      website: 'cw:1:website:1',
      visitor: 'cw:1:visitor:1',
      contacts: ['cw:1:contact:1'],
      channel: 'cw:1:channel:1',
      status: 'unassigned',
      platform: 'chat',
      created_at: '2026-11-01T10:00:00.000000Z',
      updated_at: '2026-11-01T10:00:00.000000Z',
    },
    {
      type: 'message',
      external_id: 'cw:1:message:1',
      conversation: 'cw:1:conversation:1',
      author_type: 'visitor',
      author: 'cw:1:visitor:1',
      visibility: 'public',
      kind: 'text',
      text: 'text 1',
      created_at: '2026-11-01T10:00:00.000000Z',
      delivery_status: 'sent',
      redacted: false,
    },
    {
      type: 'note',
      external_id: 'cw:1:note:1:1',
      visitor: 'cw:1:visitor:1',
      operator: 'cw:1:operator:1',
      text: 'calls back',
      created_at: '2026-11-01T10:00:00.000000Z',
    },
  ]);
});

test('a given organization takes the website, and the source makes none', async () => {
  const records = await load({ organization: 'acme' });
  expect(records.has('cw:1:organization:1')).toBe(false);
  expect(records.get('cw:1:website:1')).toMatchObject({ organization: 'acme' });
  expect(records.get('cw:1:operator:1')).toMatchObject({ organization: 'acme' });
});

test('each type of inbox gives its platform', async () => {
  const types =
    'WebWidget Email Api Whatsapp FacebookPage Instagram Telegram Line Sms TwilioSms Voice TwitterProfile'.split(' ');
  for (const [i, type] of types.entries()) {
    await put(world.sql, 'inboxes', {
      id: 10 + i,
      account_id: 1,
      channel_id: 1,
      name: type,
      channel_type: `Channel::${type}`,
    });
  }
  await put(world.sql, 'inboxes', { id: 30, account_id: 1, channel_id: 1, name: ' ', channel_type: null });
  const records = await load();
  expect(types.map((_, i) => records.get(`cw:1:channel:${10 + i}`)?.['platform'])).toEqual(
    'chat email api whatsapp messenger instagram telegram line sms sms voice unknown'.split(' '),
  );
  expect(records.get('cw:1:channel:30')).not.toHaveProperty('name');
});

test('operators: names, roles, bots, and users who left', async () => {
  const { sql } = world;
  for (const [id, name] of [
    [2, 'Left'],
    [3, 'Stranger'],
    [4, 'Blank'],
    [5, 'Noted'],
  ] as const) {
    await put(sql, 'users', { id, name, display_name: '  ', email: `${name}@example.org`, uid: name });
  }
  await put(sql, 'account_users', { account_id: 1, user_id: 4, role: 0 });
  await put(sql, 'account_users', { account_id: 2, user_id: 3, role: 1 });
  await put(sql, 'team_members', { team_id: 1, user_id: 2 });
  await put(sql, 'agent_bots', { id: 1, account_id: 1, name: 'Botty' });
  await put(sql, 'agent_bots', { id: 2, account_id: null, name: 'Everywhere' });
  await put(sql, 'agent_bots', { id: 3, account_id: 2, name: 'Foreign' });
  await put(sql, 'agent_bots', { id: 4, account_id: 1, name: 'Silent' });
  await put(sql, 'captain_assistants', { id: 1, account_id: 1, name: 'Captain' });
  await message(sql, 1, { message_type: 1, sender_type: 'User', sender_id: 2 });
  await message(sql, 2, { message_type: 1, sender_type: 'AgentBot', sender_id: 1 });
  await message(sql, 3, { message_type: 1, sender_type: 'AgentBot', sender_id: 2 });
  await message(sql, 4, { message_type: 1, sender_type: 'Captain::Assistant', sender_id: 1 });
  await put(sql, 'notes', { id: 1, account_id: 1, contact_id: 1, user_id: 5, content: 'x' });
  const records = await load();
  expect(records.get('cw:1:operator:2')).toMatchObject({ name: 'Left', role: 'operator', enabled: false, teams: [] });
  expect(records.get('cw:1:operator:5')).toMatchObject({ enabled: false });
  expect(records.has('cw:1:operator:3')).toBe(false);
  expect(records.get('cw:1:operator:4')).toMatchObject({ name: 'Blank', role: 'operator', enabled: true });
  expect(records.get('cw:1:agent_bot:1')).toMatchObject({ name: 'Botty', role: 'bot' });
  expect(records.get('cw:1:agent_bot:2')).toMatchObject({ name: 'Everywhere' });
  expect(records.has('cw:1:agent_bot:3')).toBe(false);
  expect(records.has('cw:1:agent_bot:4')).toBe(false);
  expect(records.get('cw:1:assistant:1')).toMatchObject({ name: 'Captain', role: 'bot' });
});

test('contacts: names, country, company, odd values', async () => {
  const { sql } = world;
  const rows = [
    { name: 'Ada', last_name: 'Byron', country_code: 'gb', phone_number: '+4930123', blocked: true },
    {
      name: '',
      last_name: '',
      country_code: 'Germany',
      additional_attributes: { country_code: 'DE', company_name: 'Acme' },
    },
    { name: 'Only', country_code: 'XX', additional_attributes: { country_code: 'United Kingdom', company_name: 7 } },
    { name: 'Scalar', additional_attributes: '"text"' },
    { name: 'x'.repeat(300), email: 'e'.repeat(400) },
    { name: 'f'.repeat(130), last_name: 'l'.repeat(130), phone_number: '9'.repeat(41) },
    { name: `${'x'.repeat(238)}😀😀`, additional_attributes: { company_name: 'c'.repeat(241) } },
  ];
  for (const [i, row] of rows.entries()) await put(sql, 'contacts', { id: 10 + i, account_id: 1, ...row });
  const records = await load();
  const at = (i: number) => records.get(`cw:1:contact:${10 + i}`) ?? { type: '', external_id: '' };
  expect(at(0)).toMatchObject({
    name: 'Ada Byron',
    first_name: 'Ada',
    last_name: 'Byron',
    country: 'GB',
    mobile: '+4930123',
    blocked: true,
  });
  expect(at(1)).toMatchObject({ country: 'DE', company: 'Acme' });
  expect(at(1)).not.toHaveProperty('name');
  expect(at(2)).not.toHaveProperty('country');
  expect(at(2)).toMatchObject({ company: '7', name: 'Only' });
  expect(at(3)).toMatchObject({ name: 'Scalar' });
  expect(at(4)).toMatchObject({ name: `${'x'.repeat(239)}…` });
  expect(at(4)).not.toHaveProperty('email');
  expect(at(5)).toMatchObject({
    name: `${'f'.repeat(130)} ${'l'.repeat(108)}…`,
    first_name: `${'f'.repeat(119)}…`,
    last_name: `${'l'.repeat(119)}…`,
  });
  expect(at(5)).not.toHaveProperty('mobile');
  // The cut would leave one half of the first pair.
  expect(at(6)).toMatchObject({ name: `${'x'.repeat(238)}…`, company: `${'c'.repeat(240 - 1)}…` });
  expect([4, 5, 6].map((i) => problemsOf(at(i)))).toEqual([[], [], []]);
  // Two of the fifth, four of the sixth and two of the seventh contact.
  expect(await world.open({ mode: 'poll' }).unmapped()).toMatchObject({ shortened_texts: 8 });
});

test('a name or subject that is too long is shortened, and no record on which others depend is refused', async () => {
  const { sql } = world;
  const long = 'n'.repeat(2_001);
  await sql.unsafe(`ALTER TABLE accounts ALTER name TYPE text; UPDATE accounts SET name = '${long}' WHERE id = 1;
    UPDATE inboxes SET name = '${long}'; UPDATE teams SET name = '${long}'; UPDATE users SET display_name = '${long}';
    UPDATE conversations SET additional_attributes = jsonb_build_object('mail_subject', '${long}')`);
  await put(sql, 'agent_bots', { id: 1, account_id: 1, name: long });
  await put(sql, 'captain_assistants', { id: 1, account_id: 1, name: long });
  await put(sql, 'canned_responses', { id: 1, account_id: 1, short_code: long, content: 'x' });
  await put(sql, 'canned_responses', { id: 2, account_id: 1, short_code: 's'.repeat(121), content: 'x' });
  await message(sql, 1, { message_type: 1, sender_type: 'AgentBot', sender_id: 1 });
  await message(sql, 2, { message_type: 1, sender_type: 'Captain::Assistant', sender_id: 1 });
  await attachment(sql, 1, 1, { filename: long });
  const source = world.open({ mode: 'poll' });
  const records = await loaded(source);
  expect(records.flatMap(problemsOf)).toEqual([]);
  const cut = (max: number): string => `${'n'.repeat(max - 1)}…`;
  const values = Object.fromEntries(
    records.map((one) => [one.external_id, one['subject'] ?? one['label'] ?? one['name']]),
  );
  expect(values).toMatchObject({
    'cw:1:organization:1': cut(240),
    'cw:1:website:1': cut(240),
    'cw:1:channel:1': cut(240),
    'cw:1:team:1': cut(240),
    'cw:1:operator:1': cut(120),
    'cw:1:agent_bot:1': cut(120),
    'cw:1:assistant:1': cut(120),
    'cw:1:conversation:1': cut(2_000),
    'cw:1:saved_response:1': cut(240),
    'cw:1:saved_response:2': 's'.repeat(121),
    'cw:1:file:1': cut(1_024),
  });
  // An operator types the shortcut. A cut shortcut would be another one.
  expect(records.filter((one) => 'shortcut' in one)).toEqual([]);
  expect(await source.unmapped()).toMatchObject({ shortened_texts: 10 });
});

describe('conversations', () => {
  test('each status, with and without an assignee', async () => {
    const { sql } = world;
    for (const status of [0, 1, 2, 3, 7]) {
      await conversation(sql, 10 + status, { status });
      await conversation(sql, 20 + status, { status, assignee_id: 1, team_id: 1 });
    }
    const records = await load();
    const of = (id: number) => records.get(`cw:1:conversation:${id}`)?.['status'];
    expect([10, 11, 12, 13].map(of)).toEqual(['unassigned', 'closed', 'pending', 'snoozed']);
    expect([20, 21, 22, 23].map(of)).toEqual(['assigned', 'closed', 'pending', 'snoozed']);
    expect(records.get('cw:1:conversation:20')).toMatchObject({ operator: 'cw:1:operator:1', team: 'cw:1:team:1' });
    // Nobody knows what this status means. The import refuses the row.
    expect(problemsOf(records.get('cw:1:conversation:17') ?? { type: '', external_id: '' })).toEqual([
      'invalid_value /status',
    ]);
  });

  test('the time of closing: event end, event creation, last change', async () => {
    const { sql } = world;
    const event = { account_id: 1, name: 'conversation_resolved' };
    for (const id of [10, 11, 12]) await conversation(sql, id, { status: 1, updated_at: '2026-11-03 09:00:00' });
    await put(sql, 'reporting_events', {
      ...event,
      conversation_id: 10,
      event_end_time: '2026-11-02 08:00:00',
      created_at: '2026-11-02 08:01:00',
    });
    await put(sql, 'reporting_events', {
      ...event,
      conversation_id: 10,
      event_end_time: '2026-11-01 08:00:00',
      created_at: '2026-11-01 08:01:00',
    });
    await put(sql, 'reporting_events', {
      ...event,
      conversation_id: 10,
      name: 'first_response',
      event_end_time: '2026-11-09 08:00:00',
      created_at: '2026-11-09 08:00:00',
    });
    await put(sql, 'reporting_events', { ...event, conversation_id: 11, created_at: '2026-11-02 07:00:00' });
    await put(sql, 'reporting_events', { ...event, conversation_id: 1, created_at: '2026-11-02 07:00:00' });
    const records = await load();
    const at = (id: number) => records.get(`cw:1:conversation:${id}`)?.['closed_at'];
    expect([10, 11, 12, 1].map(at)).toEqual([
      '2026-11-02T08:00:00.000000Z',
      '2026-11-02T07:00:00.000000Z',
      '2026-11-03T09:00:00.000000Z',
      undefined,
    ]);
  });

  test('rating, subject, language, times', async () => {
    const { sql } = world;
    const csat = { account_id: 1, contact_id: 1 };
    await conversation(sql, 10, {
      additional_attributes: { mail_subject: 'Invoice', conversation_language: 'pt_BR' },
      first_reply_created_at: '2026-11-01 10:05:00.5',
      updated_at: '2026-11-01 10:06:00',
      last_activity_at: '2026-11-01 10:07:00.123456',
    });
    await put(sql, 'csat_survey_responses', {
      ...csat,
      conversation_id: 10,
      message_id: 1,
      rating: 1,
      feedback_message: 'bad',
      created_at: '2026-11-01',
    });
    await put(sql, 'csat_survey_responses', {
      ...csat,
      conversation_id: 10,
      message_id: 2,
      rating: 5,
      feedback_message: 'good',
      created_at: '2026-11-02',
    });
    await conversation(sql, 11, {
      additional_attributes: { conversation_language: 'not a tag!', mail_subject: '' },
      contact_id: 99,
      inbox_id: 99,
      contact_inbox_id: 99,
      team_id: 99,
    });
    await put(sql, 'csat_survey_responses', {
      ...csat,
      conversation_id: 11,
      message_id: 3,
      rating: 4,
      feedback_message: '',
    });
    await conversation(sql, 12);
    await put(sql, 'csat_survey_responses', {
      ...csat,
      conversation_id: 12,
      message_id: 4,
      rating: 2,
      feedback_message: 'y'.repeat(121),
    });
    const source = world.open({ mode: 'poll' });
    const records = new Map((await loaded(source)).map((record) => [record.external_id, record]));
    expect(records.get('cw:1:conversation:10')).toMatchObject({
      subject: 'Invoice',
      language: 'pt-BR',
      rating: { label: 'good', score: 5 },
      first_response_at: '2026-11-01T10:05:00.500000Z',
      updated_at: '2026-11-01T10:07:00.123456Z',
    });
    expect(records.get('cw:1:conversation:11')).toEqual({
      type: 'conversation',
      external_id: 'cw:1:conversation:11',
      website: 'cw:1:website:1',
      contacts: [],
      status: 'unassigned',
      platform: 'unknown',
      rating: { label: '4', score: 4 },
      created_at: '2026-11-01T10:00:00.000000Z',
      updated_at: '2026-11-01T10:00:00.000000Z',
    });
    expect(records.get('cw:1:conversation:12')?.['rating']).toEqual({ label: `${'y'.repeat(119)}…`, score: 2 });
    expect(await source.unmapped()).toEqual({ labels: 0, custom_attributes: 0, shortened_texts: 1 });
  });
});

test('a visitor: the newest visit of all conversations, and a visitor without a contact', async () => {
  const { sql } = world;
  await conversation(sql, 10, { contact_last_seen_at: '2026-11-02 10:00:00' });
  await conversation(sql, 11, { contact_last_seen_at: '2026-11-03 10:00:00' });
  await put(sql, 'contact_inboxes', { id: 2, contact_id: 77, inbox_id: 1, source_id: 's2' });
  await put(sql, 'inboxes', { id: 9, account_id: 2, channel_id: 1, name: 'Foreign' });
  await put(sql, 'contact_inboxes', { id: 3, contact_id: 78, inbox_id: 9, source_id: 's3' });
  const records = await load();
  expect(records.get('cw:1:visitor:1')).toMatchObject({ last_seen_at: '2026-11-03T10:00:00.000000Z' });
  expect(records.get('cw:1:visitor:2')).toMatchObject({ contacts: [] });
  expect(records.has('cw:1:visitor:3')).toBe(false);
});

test('a note comes to each visitor of the contact', async () => {
  await put(world.sql, 'contact_inboxes', { id: 2, contact_id: 1, inbox_id: 1, source_id: 's2' });
  await put(world.sql, 'notes', { id: 5, account_id: 1, contact_id: 1, user_id: 44, content: 'x' });
  const records = await load();
  expect(records.get('cw:1:note:5:1')).toMatchObject({ visitor: 'cw:1:visitor:1' });
  expect(records.get('cw:1:note:5:2')).toMatchObject({ visitor: 'cw:1:visitor:2' });
  expect(records.get('cw:1:note:5:2')).not.toHaveProperty('operator');
});

test('a file with a content is a file, on the disk with its path', async () => {
  const { sql } = world;
  await message(sql, 1);
  await attachment(sql, 1, 1);
  await attachment(sql, 2, 1, { service_name: 'amazon', content_type: null });
  await put(sql, 'attachments', { id: 3, account_id: 1, message_id: 1, external_url: 'https://example.org/x' });
  await attachment(sql, 4, 999);
  const without = await load();
  expect(without.get('cw:1:file:1')).toEqual({
    type: 'file',
    external_id: 'cw:1:file:1',
    message: 'cw:1:message:1',
    name: 'plan.pdf',
    media_type: 'application/pdf',
    created_at: '2026-11-01T10:00:00.000000Z',
    size: 12,
  });
  expect(without.has('cw:1:file:3')).toBe(false);
  expect(without.has('cw:1:file:4')).toBe(false);
  const stored = await load({ storage: '/srv/storage' });
  expect(stored.get('cw:1:file:1')).toMatchObject({ path: 'ab/cd/abcd1' });
  expect(stored.get('cw:1:file:1')).toHaveProperty('path');
  expect(stored.get('cw:1:file:2')).toMatchObject({ size: 12, media_type: 'application/octet-stream' });
});

test('times in the attributes: seconds, milliseconds, texts and nonsense', () => {
  expect([1_700_000_000, '1700000000', 1_700_000_000_000, '1700000000.5', 1_700_000_000.25].map(externalTime)).toEqual([
    '2023-11-14T22:13:20.000Z',
    '2023-11-14T22:13:20.000Z',
    '2023-11-14T22:13:20.000Z',
    '2023-11-14T22:13:20.500Z',
    '2023-11-14T22:13:20.250Z',
  ]);
  expect(
    [0, -5, 'soon', '', null, undefined, {}, [], true, 1e30, Number.NaN, '9'.repeat(15)].map(externalTime),
  ).toEqual(Array(12).fill(undefined));
});

test('each number of a locale is a language, and an unknown number is English', () => {
  expect([null, '0', '4', '16', '20', '30', '39', '43', '44', '-1', 'x'].map(localeTag)).toEqual(
    'en en de pt-BR zh-TW zh-CN sr sl en en en'.split(' '),
  );
});
