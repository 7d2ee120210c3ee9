import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoAt } from '../../support/demo.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { DEMO_NOW } from '../../support/postgres.ts';

const records = await demoAt(DEMO_NOW);
const ofType = <T extends (typeof records)[number]['type']>(type: T) =>
  records.filter((record): record is Extract<(typeof records)[number], { type: T }> => record.type === type);

let gateway: TestGateway;
let token: string;
const WEB = 'web_1_1';

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());

const get = async (path: string) => {
  const answer = await gateway.ask(path, { token });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
};

async function walk(path: string, member: string, limit: number): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  let cursor: string | null = null;
  do {
    const mark: string = path.includes('?') ? '&' : '?';
    const { data } = await get(
      `${path}${mark}limit=${limit}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    rows.push(...data[member]);
    expect(data[member].length).toBeLessThanOrEqual(limit);
    cursor = data.next_cursor;
  } while (cursor !== null);
  return rows;
}

const tail = (id: unknown): number => Number(String(id).split('_').at(-1));

describe('every read answers over REST with the demo’s data', () => {
  it('websites, context, health, capabilities', async () => {
    expect((await get('/api/v1/websites')).websites.map((site: { website_id: string }) => site.website_id)).toEqual([
      'web_1_1',
      'web_1_2',
    ]);
    const context = await get('/api/v1/context');
    expect(context.principal).toBe('app_installation');
    expect(context.restrictions).toEqual({});
    expect(context.guides).toHaveLength(7);
    const { data } = await get(`/api/v1/capabilities?website_id=${WEB}`);
    expect(data.operations).toHaveLength(gateway.corridor.registry.tools.length);
    const health = await get(`/api/v1/health?website_id=${WEB}`);
    expect(health.data.components.find((one: { name: string }) => one.name === 'store').status).toBe('ready');
    expect(health.data.families.find((one: { family: string }) => one.family === 'conversation').status).toBe('live');
  });

  it('conversations: each of the website once, newest first, whatever the page size', async () => {
    const expected = ofType('conversation').filter((one) => one.website === ofType('website')[0]?.external_id);
    for (const limit of [7, 100]) {
      const rows = await walk(`/api/v1/conversations?website_id=${WEB}`, 'conversations', limit);
      expect(rows).toHaveLength(expected.length);
      const ids = rows.map((row) => tail(row['id']));
      expect(ids).toEqual([...new Set(ids)].sort((a, b) => b - a));
    }
  });

  it('conversations in order of change, resumed by an opaque cursor', async () => {
    const rows = await walk(`/api/v1/conversations?website_id=${WEB}&order=updated_asc`, 'conversations', 9);
    const all = await walk(`/api/v1/conversations?website_id=${WEB}`, 'conversations', 100);
    expect(rows.map((row) => row['id']).sort()).toEqual(all.map((row) => row['id']).sort());
    const moments = rows.map((row) => String(row['updated_at']));
    expect(moments).toEqual([...moments].sort());
  });

  it('conversation filters select what the imported records say', async () => {
    const site = ofType('website')[0]?.external_id;
    const mine = ofType('conversation').filter((one) => one.website === site);
    const count = async (filter: string) =>
      (await walk(`/api/v1/conversations?website_id=${WEB}&${filter}`, 'conversations', 100)).length;
    expect(await count('status=closed,spam')).toBe(
      mine.filter((one) => ['closed', 'spam'].includes(one.status)).length,
    );
    expect(await count('platform=email')).toBe(mine.filter((one) => one.platform === 'email').length);
    const word = mine.find((one) => one.subject)?.subject?.slice(2, 9) ?? '';
    const having = mine.filter((one) => one.subject?.toLowerCase().includes(word.toLowerCase()));
    expect(await count(`query=${encodeURIComponent(word.toUpperCase())}`)).toBe(having.length);
    expect(await count('query=%25')).toBe(mine.filter((one) => one.subject?.includes('%')).length);
    const since = '2026-11-01T00:00:00Z';
    expect(await count(`created_from=${since}`)).toBe(
      mine.filter((one) => Date.parse(one.created_at) >= Date.parse(since)).length,
    );
    expect(await count(`created_to=${since}`)).toBe(
      mine.filter((one) => Date.parse(one.created_at) < Date.parse(since)).length,
    );
  });

  it('messages in both orders, with derived counts and times', async () => {
    const conversations = await walk(`/api/v1/conversations?website_id=${WEB}`, 'conversations', 100);
    let seen = 0;
    for (const conversation of conversations.slice(0, 30)) {
      const path = `/api/v1/conversations/${conversation['id']}/messages`;
      const newest = await walk(path, 'messages', 3);
      const oldest = await walk(`${path}?order=asc`, 'messages', 50);
      expect(oldest.map((one) => one['id'])).toEqual(newest.map((one) => one['id']).reverse());
      expect(conversation['message_count']).toBe(oldest.length);
      expect(oldest.every((one) => one['visibility'] === 'public')).toBe(true);
      expect(conversation['last_message_at']).toBe(
        oldest.length === 0
          ? null
          : oldest
              .map((one) => String(one['created_at']))
              .sort()
              .at(-1),
      );
      const internal = await walk(`${path}?include_internal=true`, 'messages', 50);
      expect(internal.length).toBeGreaterThanOrEqual(oldest.length);
      for (const message of internal.filter((one) => one['visibility'] === 'internal')) {
        const one = `${path}/${message['id']}`;
        expect((await gateway.ask(one, { token })).status).toBe(404);
        expect((await get(`${one}?include_internal=true`)).data.message).toEqual(message);
        seen++;
      }
    }
    expect(seen).toBeGreaterThan(0);
  });

  it('redacted messages have no text, long ones are cut and say so', async () => {
    const rows = await gateway.database.sql<{ site: string; id: string; conversation_id: string; redacted: boolean }[]>`
      SELECT site, id, conversation_id, redacted FROM platform.message
       WHERE visibility = 'public' AND (redacted OR length(text) > 32768) ORDER BY redacted, id`;
    expect(rows.some((row) => row.redacted)).toBe(true);
    expect(rows.some((row) => !row.redacted)).toBe(true);
    for (const { site, id, conversation_id, redacted } of rows.slice(0, 20)) {
      const path = `/api/v1/conversations/cnv_1_${site}_${conversation_id}/messages/msg_1_${site}_${id}`;
      const { message } = (await get(path)).data;
      if (redacted) expect([message.text, message.text_truncated]).toEqual([null, false]);
      else expect([message.text.length <= 32_768, message.text_truncated]).toEqual([true, true]);
    }
  });

  it('contacts by prefix and exact search; wildcards are ordinary characters, deleted ones are gone', async () => {
    const site = ofType('website')[0]?.external_id;
    const live = ofType('contact').filter((one) => one.website === site && one.deleted !== true);
    const all = await walk(`/api/v1/contacts?website_id=${WEB}`, 'data', 100);
    expect(all).toHaveLength(live.length);
    const someone = live.find((one) => one.name && one.email);
    const find = async (filter: string) =>
      (await walk(`/api/v1/contacts?website_id=${WEB}&${filter}`, 'data', 100)).length;
    const start = someone?.name?.slice(0, 4) ?? '';
    const begins = (one: (typeof live)[number]) =>
      [one.name, one.email, one.mobile, one.phone].some((value) => value?.startsWith(start));
    expect(await find(`query=${encodeURIComponent(start)}`)).toBe(live.filter(begins).length);
    expect(await find(`query=${encodeURIComponent(someone?.email ?? '')}&query_field=email&query_match=exact`)).toBe(1);
    expect(await find('query=%25')).toBe(0);
    expect(await find('query=_')).toBe(0);
    const deleted = await gateway.database.sql<{ id: string }[]>`
      SELECT id FROM platform.contact WHERE tenant = 1 AND site = 1 AND deleted LIMIT 1`;
    expect((await gateway.ask(`/api/v1/contacts/ctc_1_1_${deleted[0]?.id}`, { token })).status).toBe(404);
  });

  it('a visitor, its conversations, contacts and notes', async () => {
    const [linked] = await gateway.database.sql<{ visitor_id: string; contact_id: string }[]>`
      SELECT k.visitor_id, k.contact_id FROM platform.visitor_contact k
        JOIN platform.note n USING (tenant, site, visitor_id)
        JOIN platform.contact c ON c.tenant = k.tenant AND c.site = k.site AND c.id = k.contact_id AND NOT c.deleted
       WHERE k.tenant = 1 AND k.site = 1 LIMIT 1`;
    const visitor = `vis_1_1_${linked?.visitor_id}`;
    const contact = `ctc_1_1_${linked?.contact_id}`;
    const body = (await get(`/api/v1/dashboard/visitors/${visitor}`)).data.visitor;
    expect(body.contact_linked).toBe(true);
    expect(body.contact_ids).toContain(contact);
    const conversations = await walk(`/api/v1/dashboard/visitors/${visitor}/conversations`, 'conversations', 2);
    expect(conversations).toHaveLength(body.conversation_count);
    expect((await walk(`/api/v1/contacts/${contact}/visitors`, 'visitors', 5)).map((one) => one['id'])).toContain(
      visitor,
    );
    const notes = await walk(`/api/v1/visitors/${visitor}/notes`, 'notes', 1);
    expect(notes.length).toBeGreaterThan(0);
    expect(await walk(`/api/v1/contacts/${contact}/notes`, 'notes', 100)).toEqual(expect.arrayContaining(notes));
  });

  it('files: metadata, every chunk as JSON and as bytes, ranges, If-Match', async () => {
    const files = await gateway.database.sql<
      { site: string; id: string; size: string; sha256: string; external_id: string }[]
    >`
      SELECT f.site, f.id, f.size, f.sha256, f.external_id FROM platform.file f JOIN platform.message m
        ON m.tenant = f.tenant AND m.site = f.site AND m.id = f.message_id WHERE m.visibility = 'public'
       ORDER BY f.size DESC LIMIT 4`;
    expect(Number(files[0]?.size)).toBeGreaterThan(131_072);
    for (const { site, id, sha256, external_id } of files) {
      const path = `/api/v1/files/fil_1_${site}_${id}`;
      const { file } = (await get(path)).data;
      const source = ofType('file').find((one) => one.external_id === external_id);
      const original = Buffer.from(source && 'content_base64' in source ? String(source.content_base64) : '', 'base64');
      expect(file.size).toBe(original.length);
      const parts: Buffer[] = [];
      for (let chunk: number | null = 0; chunk !== null; ) {
        const { data }: { data: { content: string; sha256: string; next_chunk: number | null } } = await get(
          `${path}/content?chunk=${chunk}&version=${file.version}`,
        );
        const bytes = Buffer.from(data.content, 'base64');
        expect(createHash('sha256').update(bytes).digest('hex')).toBe(data.sha256);
        parts.push(bytes);
        chunk = data.next_chunk;
      }
      expect(Buffer.concat(parts).equals(original)).toBe(true);
      expect(createHash('sha256').update(original).digest('hex')).toBe(sha256);
    }
    const { site, id, size } = files[0] ?? { site: '', id: '', size: '' };
    const content = `/api/v1/files/fil_1_${site}_${id}/content`;
    const bytes = (headers: Record<string, string>) =>
      gateway.ask(content, { token, headers: { accept: 'application/octet-stream', ...headers } });
    const first = await bytes({});
    expect([first.status, first.bytes.length]).toEqual([206, 65_536]);
    const across = await bytes({ range: 'bytes=65530-65545' });
    expect(across.headers['content-range']).toBe(`bytes 65530-65545/${size}`);
    expect(across.headers['content-digest']).toBe(
      `sha-256=:${createHash('sha256').update(across.bytes).digest('base64')}:`,
    );
  });

  it('attachments of a message', async () => {
    const [row] = await gateway.database.sql<{ conversation_id: string; message_id: string; n: number }[]>`
      SELECT f.conversation_id, f.message_id, m.attachment_count AS n FROM platform.file f JOIN platform.message m
        ON m.tenant = f.tenant AND m.site = f.site AND m.id = f.message_id
       WHERE f.tenant = 1 AND f.site = 1 AND m.visibility = 'public' ORDER BY m.attachment_count DESC LIMIT 1`;
    const path = `/api/v1/conversations/cnv_1_1_${row?.conversation_id}/messages/msg_1_1_${row?.message_id}/attachments`;
    expect(await walk(path, 'attachments', 1)).toHaveLength(row?.n ?? 0);
  });

  it('catalogues leave out what is private, dynamic or scripted', async () => {
    const site = ofType('website')[0]?.external_id;
    const q = `?website_id=${WEB}`;
    const links = ofType('saved_link').filter((one) => one.website === site);
    expect(await walk(`/api/v1/saved_links${q}`, 'saved_links', 1)).toHaveLength(
      links.filter((one) => one.kind === 'static' && one.scope === 'global').length,
    );
    const responses = ofType('saved_response').filter((one) => one.website === site && one.scope === 'global');
    expect(await walk(`/api/v1/saved_responses${q}&language=EN`, 'saved_responses', 1)).toHaveLength(
      responses.filter((one) => one.language === 'en').length,
    );
    for (const [name, type] of [
      ['dispositions', 'disposition'],
      ['offers', 'offer'],
      ['channels', 'channel'],
      ['teams', 'team'],
    ] as const) {
      expect(await walk(`/api/v1/${name}${q}`, name, 2), name).toHaveLength(
        ofType(type).filter((one) => one.website === site).length,
      );
    }
    expect(await walk(`/api/v1/operators${q}`, 'operators', 2)).toHaveLength(
      ofType('operator').filter((one) => one.websites.includes(site ?? '')).length,
    );
  });

  it('AI features and settings', async () => {
    const q = `?website_id=${WEB}`;
    const features = await walk(`/api/v1/ai/features${q}`, 'features', 5);
    expect(features.map((one) => tail(one['id']))).toEqual(
      features.map((one) => tail(one['id'])).sort((a, b) => a - b),
    );
    const [first] = features;
    const { application_execution, ...metadata } = first ?? {};
    expect(application_execution).toEqual({ available: false, reason: 'adapter_not_available' });
    expect((await get(`/api/v1/ai/features/${metadata['id']}`)).data.feature).toEqual(metadata);
    const item = (await get(`/api/v1/settings/item${q}&path=/ai/features/${metadata['id']}`)).data;
    expect(item.item).toEqual(metadata);
    expect(await walk(`/api/v1/settings/item${q}&path=/ai/features`, 'items', 4)).toHaveLength(features.length);
    const matches = await walk(`/api/v1/settings/search${q}&query=LANGUAGE`, 'matches', 3);
    expect(matches.map((one) => one['type'])).toContain('language_detection');
    expect((await get(`/api/v1/settings/catalog${q}`)).data.areas).toHaveLength(1);
    const schema = (await get(`/api/v1/settings/schema${q}&path=/ai/features`)).data;
    expect(Object.keys(schema.schema.properties)).toEqual(['id', 'name', 'type', 'enabled', 'version']);
    expect((await gateway.ask(`/api/v1/settings/item${q}&path=/ai/features/aif_1_2_1`, { token })).status).toBe(404);
  });
});

describe('what one parameter means to another', () => {
  const q = `?website_id=${WEB}`;
  const refused = async (path: string, headers: Record<string, string> = {}) => {
    const { status, body } = await gateway.ask(path, { token, headers });
    return [status, body.code];
  };

  it('If-Match stands for version on JSON, and a range excludes a chunk', async () => {
    const [file] = await gateway.database.sql<{ id: string; version: string }[]>`
      SELECT f.id, f.version FROM platform.file f JOIN platform.message m
        ON m.tenant = f.tenant AND m.site = f.site AND m.id = f.message_id
       WHERE f.tenant = 1 AND f.site = 1 AND m.visibility = 'public' LIMIT 1`;
    const content = `/api/v1/files/fil_1_1_${file?.id}/content`;
    expect((await gateway.ask(content, { token, headers: { 'if-match': `"${file?.version}"` } })).status).toBe(200);
    expect(await refused(content, { 'if-match': `"${'0'.repeat(32)}"` })).toEqual([409, 'version_conflict']);
    expect(await refused(content, { 'if-match': 'garbage' })).toEqual([400, 'invalid_parameter']);
    const raw = { accept: 'application/octet-stream', range: 'bytes=0-1' };
    expect(await refused(`${content}?chunk=0`, raw)).toEqual([400, 'invalid_parameter']);
  });

  it('a cursor has no meaning on one settings item', async () => {
    const path = `/api/v1/settings/item${q}&path=/ai/features/aif_1_1_1`;
    expect((await gateway.ask(path, { token })).status).toBe(200);
    expect(await refused(`${path}&cursor=aif_1_1_1`)).toEqual([400, 'invalid_cursor']);
  });

  it('a language tag whose canonical form is longer is echoed whole', async () => {
    const { data } = await get(`/api/v1/saved_responses${q}&language=sh-BA-ekavsk-ijekavsk`);
    expect(data.language).toBe('sr-Latn-BA-ekavsk-ijekavsk');
  });

  it('a public answer to an internal message does not tell of it', async () => {
    const { sql } = gateway.database;
    const [pair] = await sql<{ inner: string; outer: string; conversation_id: string }[]>`
      SELECT i.id AS inner, p.id AS outer, i.conversation_id FROM platform.message i JOIN platform.message p
        ON p.tenant = i.tenant AND p.site = i.site AND p.conversation_id = i.conversation_id AND p.visibility = 'public'
       WHERE i.tenant = 1 AND i.site = 1 AND i.visibility = 'internal' LIMIT 1`;
    await sql`UPDATE platform.message SET in_reply_to = ${pair?.inner ?? null}
      WHERE tenant = 1 AND site = 1 AND id = ${pair?.outer ?? null}`;
    const path = `/api/v1/conversations/cnv_1_1_${pair?.conversation_id}/messages/msg_1_1_${pair?.outer}`;
    expect((await get(path)).data.message.in_reply_to).toBe(`msg_1_1_${pair?.inner}`);
    const outside = await gateway.issue({ dataAccess: ['message_content', 'pii'] });
    expect((await gateway.ask(path, { token: outside.token })).body.data.message.in_reply_to).toBeNull();
  });
});
