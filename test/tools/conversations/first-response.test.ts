import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importRecords } from '../../../src/sources/files/import.ts';
import { conversation, message, seed } from '../../support/chatwoot/source-rows.ts';
import { chatwootWorld } from '../../support/chatwoot/source-world.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { addSource, runSources } from '../../support/sources.ts';

/** The time of the first response: what the source or file gives, or else the first public message of an operator. */
let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await load(
    { type: 'organization', external_id: 'org', name: 'Desk' },
    { type: 'website', external_id: 'web', organization: 'org', name: 'Site', time_zone: 'UTC' },
    { type: 'visitor', external_id: 'vis', website: 'web', created_at: at(0) },
  );
  ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());

const at = (minute: number): string => new Date(Date.UTC(2026, 10, 10, 9, minute)).toISOString();
const load = async (...records: object[]): Promise<void> => {
  const { rejected } = await importRecords(gateway.database.db, records);
  expect(rejected).toBe(0);
};
const asked = (external_id: string, more: object = {}) => ({
  ...{ type: 'conversation', external_id, website: 'web', visitor: 'vis', status: 'closed', platform: 'chat' },
  ...{ created_at: at(0), ...more },
});
const said = (conversation: string, id: string, author_type: string, minute: number, more: object = {}) => ({
  ...{ type: 'message', external_id: `${conversation} ${id}`, conversation, author_type, visibility: 'public' },
  ...{ kind: 'text', text: `message ${id}`, created_at: at(minute), ...more },
});
const nativeId = async (external_id: string): Promise<string> => {
  const [row] = await gateway.database.sql<{ id: string }[]>`
    SELECT 'cnv_' || tenant || '_' || site || '_' || id AS id FROM platform.conversation WHERE external_id = ${external_id}`;
  return row?.id ?? expect.fail(external_id);
};
/** What the read of one conversation, the list and the page of a record tell. They must agree. */
async function responded(external_id: string, by = token): Promise<string | null> {
  const id = await nativeId(external_id);
  const { body } = await gateway.ask(`/api/v1/conversations/${id}`, { token: by });
  const website = body.data.conversation.website_id;
  const list = await gateway.ask(`/api/v1/conversations?website_id=${website}&limit=100`, { token: by });
  const listed = list.body.data.conversations.find((one: { id: string }) => one.id === id);
  const { text } = await gateway.ask(`/api/v1/records/${id}`, { token: by });
  const time: string | null = body.data.conversation.first_response_at;
  expect(listed.first_response_at).toBe(time);
  expect(text.includes('First reply')).toBe(time !== null);
  return time;
}

describe('a file without first_response_at', () => {
  it('is the first public message of an operator after the first of the visitor, and no other message', async () => {
    await load(
      asked('all'),
      said('all', 'greeting', 'operator', 1),
      said('all', 'note', 'operator', 3, { visibility: 'internal' }),
      said('all', 'question', 'visitor', 2),
      said('all', 'bot', 'bot', 4),
      said('all', 'moved', 'system', 5),
      said('all', 'again', 'visitor', 6),
      said('all', 'answer', 'operator', 7),
      said('all', 'more', 'operator', 8),
    );
    expect(await responded('all')).toBe(at(7));
  });

  it.each([
    ['nobody', []],
    ['bots', [said('bots', '1', 'visitor', 1), said('bots', '2', 'bot', 2)]],
    ['notes', [said('notes', '1', 'visitor', 1), said('notes', '2', 'operator', 2, { visibility: 'internal' })]],
    ['greeted', [said('greeted', '1', 'operator', 1), said('greeted', '2', 'visitor', 2)]],
    ['unasked', [said('unasked', '1', 'operator', 1)]],
  ])('is null for a conversation of %s', async (name, messages) => {
    await load(asked(name), ...messages);
    expect(await responded(name)).toBe(null);
  });

  it('is right for messages that come late, out of order, changed, redacted and removed', async () => {
    await load(asked('late'), said('late', 'answer', 'operator', 9));
    expect(await responded('late')).toBe(null);
    await load(said('late', 'question', 'visitor', 5));
    expect(await responded('late')).toBe(at(9));
    await load(said('late', 'sooner', 'operator', 7));
    expect(await responded('late')).toBe(at(7));
    await load(said('late', 'first question', 'visitor', 1), said('late', 'greeting', 'operator', 0));
    expect(await responded('late')).toBe(at(7));
    // The text of a message is no part of the time. Its time and visibility are.
    await load(said('late', 'sooner', 'operator', 7, { text: 'other', edited_at: at(20) }));
    await load(said('late', 'sooner', 'operator', 7, { text: 'gone', redacted: true }));
    expect(await responded('late')).toBe(at(7));
    await load(said('late', 'sooner', 'operator', 8));
    expect(await responded('late')).toBe(at(8));
    await load(said('late', 'sooner', 'operator', 8, { visibility: 'internal' }));
    expect(await responded('late')).toBe(at(9));
    await load({ type: 'delete', of: 'message', external_id: 'late answer' });
    expect(await responded('late')).toBe(null);
  });

  it('stays as it is when the file comes again', async () => {
    const file = [asked('again'), said('again', '1', 'visitor', 1), said('again', '2', 'operator', 2)];
    for (let times = 0; times < 3; times++) {
      await load(...file);
      expect(await responded('again')).toBe(at(2));
    }
    await load(...file.toReversed());
    expect(await responded('again')).toBe(at(2));
  });
});

describe('a file with first_response_at', () => {
  it('wins over the messages, also when it is given later, until a file gives none', async () => {
    const messages = [said('given', '1', 'visitor', 1), said('given', '2', 'operator', 5)];
    await load(asked('given', { first_response_at: at(3) }), ...messages);
    expect(await responded('given')).toBe(at(3));
    await load(...messages, said('given', '3', 'operator', 2));
    expect(await responded('given')).toBe(at(3));
    await load(asked('given'));
    expect(await responded('given')).toBe(at(2));
    await load(asked('given', { first_response_at: at(30) }));
    expect(await responded('given')).toBe(at(30));
  });

  it('keeps the given time of a conversation without messages', async () => {
    await load(asked('silent', { first_response_at: at(4) }));
    expect(await responded('silent')).toBe(at(4));
  });
});

it('tells nothing about messages that the caller may not see', async () => {
  await load(asked('hidden'), said('hidden', '1', 'visitor', 1), said('hidden', '2', 'operator', 6));
  const { token: narrow } = await gateway.issue({ scopes: ['conversation_read'], dataAccess: [] });
  const id = await nativeId('hidden');
  const read = async (): Promise<string> =>
    (await gateway.ask(`/api/v1/conversations/${id}`, { token: narrow })).body.data.conversation.first_response_at;
  expect(await read()).toBe(at(6));
  await load(said('hidden', '3', 'operator', 2, { visibility: 'internal' }));
  expect(await read()).toBe(at(6));
});

it.each(['live', 'poll'] as const)('a %s source: the time is derived until Chatwoot gives one', async (mode) => {
  const desk = await chatwootWorld();
  await seed(desk.sql);
  await desk.grant(mode);
  const now = (seconds: number): string =>
    new Date(Date.now() - 3_600_000 + seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ');
  const stamp = (seconds: number) => ({ created_at: now(seconds), updated_at: 'now' });
  const iso = (time: string): string => `${time.replace(' ', 'T')}.000Z`;
  const organization = `desk ${mode}`;
  const source = await addSource(gateway.database, { address: desk.address(), mode, organization });
  const running = runSources(gateway.database);
  try {
    const ours = { sender_type: 'User', sender_id: 1, message_type: 1 };
    const [asks, notes, answers, gives] = [now(1), now(2), now(3), now(4)];
    await conversation(desk.sql, 2, { last_activity_at: 'now', created_at: 'now', updated_at: 'now' });
    await message(desk.sql, 21, { conversation_id: 2, ...stamp(3), created_at: answers, ...ours });
    await message(desk.sql, 22, { conversation_id: 2, ...stamp(2), created_at: notes, ...ours, private: true });
    await message(desk.sql, 23, { conversation_id: 2, ...stamp(1), created_at: asks });
    const time = async (): Promise<string | null | undefined> => {
      const [row] = await gateway.database.sql<{ id: string }[]>`
          SELECT 'cnv_' || tenant || '_' || site || '_' || id AS id  FROM platform.conversation
           WHERE tenant = ${source.tenant} AND external_id = 'cw:1:conversation:2'`;
      if (!row) return undefined;
      const { token: by } = await gateway.issue({}, Number(source.tenant));
      const { body } = await gateway.ask(`/api/v1/conversations/${row.id}`, { token: by });
      return body.data?.conversation.first_response_at;
    };
    await expect.poll(time, { interval: 300 }).toBe(iso(answers));
    await desk.sql`UPDATE conversations SET first_reply_created_at = ${gives}::timestamp,
        updated_at = now() AT TIME ZONE 'UTC', last_activity_at = now() AT TIME ZONE 'UTC' WHERE id = 2`;
    await expect.poll(time, { interval: 300 }).toBe(iso(gives));
  } finally {
    await running.stop();
    await desk.close();
  }
});
