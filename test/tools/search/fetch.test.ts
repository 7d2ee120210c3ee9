import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../support/answer.ts';
import type { Grant } from '../../support/credentials.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { rpc } from '../../support/surfaces/mcp.ts';

let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());

const read = (id: string, by = token): Promise<Answer> => gateway.ask(`/api/v1/records/${id}`, { token: by });
const as = async (scopes: Grant['scopes'], dataAccess: Grant['dataAccess'], more: Grant = {}): Promise<string> =>
  (await gateway.issue({ ...(scopes && { scopes }), ...(dataAccess && { dataAccess }), ...more })).token;
const words = (text: string): string[] =>
  [...text.matchAll(/<<<data ([0-9a-f]{16})>>>([\s\S]*?)<<<end \1>>>/g)]
    .slice(1)
    .map(([, , inside = '']) => inside.trim());
const CONTENT = ['message_content_read', 'contact_read_pii'] as const;

describe('fetch', () => {
  it('tells a conversation as the operations tell it: who, when, what was said, and how it ended', async () => {
    const [row] = await gateway.database.sql<{ id: string }[]>`
      SELECT c.id FROM platform.conversation c JOIN platform.message m ON m.tenant = c.tenant AND m.site = c.site AND m.conversation_id = c.id
       WHERE c.tenant = 1 AND c.site = 1 AND c.status = 'closed' AND c.operator_id IS NOT NULL AND c.subject IS NOT NULL
       GROUP BY c.id HAVING count(*) > 3 AND sum(length(m.text)) < 9000 ORDER BY 1 LIMIT 1`;
    const id = `cnv_1_1_${row?.id}`;
    const { status, body, text: raw } = await read(id);
    expect(status, raw).toBe(200);
    const { text, title, url, metadata } = body;
    const one = (await gateway.ask(`/api/v1/conversations/${id}`, { token })).body.data.conversation;
    const said = (
      await gateway.ask(`/api/v1/conversations/${id}/messages?limit=100&order=asc&include_internal=true`, { token })
    ).body.data.messages;
    const people = (await gateway.ask(`/api/v1/conversations/${id}/contacts`, { token })).body.data.contacts;
    expect(Object.keys(body).sort()).toEqual(['id', 'metadata', 'text', 'title', 'url']);
    expect([body.id, title, url]).toEqual([
      id,
      one.subject ?? `Conversation of ${one.created_at.slice(0, 10)}`,
      `${BASE_URL}/c/${id}`,
    ]);
    expect(metadata).toEqual({
      ...{ kind: 'conversation', website_id: 'web_1_1', created_at: one.created_at, truncated: false, left_out: [] },
    });
    for (const fact of [
      `Status: ${one.status}`,
      `Created: ${one.created_at}`,
      one.closed_at,
      one.disposition,
      one.visitor_id,
      one.operator_id,
    ])
      if (fact !== null) expect(text).toContain(fact);
    const places = said.map(({ id: message }: { id: string }) => text.indexOf(`\n${message}, `));
    expect(places.length).toBeGreaterThan(3);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(Math.min(...places)).toBeGreaterThan(0);
    for (const message of said) if (message.text) expect(words(text)).toContain(message.text.trim());
    for (const person of people) expect(text).toContain(person.id);
  });

  it('tells a contact and a visitor, with conversations and notes', async () => {
    const [note] = await gateway.database.sql<{ visitor: string; contact: string; text: string }[]>`
      SELECT n.visitor_id AS visitor, k.contact_id AS contact, n.text FROM platform.note n
        JOIN platform.visitor_contact k ON k.tenant = n.tenant AND k.site = n.site AND k.visitor_id = n.visitor_id JOIN platform.contact c ON c.tenant = n.tenant AND c.site = n.site AND c.id = k.contact_id
       WHERE n.tenant = 1 AND n.site = 1 AND NOT c.deleted ORDER BY n.id DESC LIMIT 1`;
    const contact = (await read(`ctc_1_1_${note?.contact}`)).body;
    const visitor = (await read(`vis_1_1_${note?.visitor}`)).body;
    const stored = (await gateway.ask(`/api/v1/contacts/ctc_1_1_${note?.contact}`, { token })).body.data.contact;
    expect(contact.title).toBe(stored.name);
    expect(contact.text).toContain(`- vis_1_1_${note?.visitor}`);
    expect(visitor.text).toContain(`- ctc_1_1_${note?.contact}`);
    for (const { text, metadata } of [contact, visitor]) {
      expect(words(text)).toContain(note?.text);
      expect(text).toMatch(/Conversations, newest first\n- cnv_1_1_\d+, /);
      expect([metadata.left_out, metadata.website_id]).toEqual([[], 'web_1_1']);
    }
    expect([contact.metadata.kind, visitor.metadata.kind]).toEqual(['contact', 'visitor']);
  });

  it('keeps the newest messages when the text would be longer than 64 KiB', async () => {
    const { sql } = gateway.database;
    await sql`INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, created_at, updated_at)
      VALUES (1, 1, 700001, 'long', 'closed', 'chat', now(), now()), (1, 1, 700002, 'huge', 'closed', 'chat', now(), now())`;
    await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
      SELECT 1, 1, 7000000 + i, 'long ' || i, 700001, 'visitor', 'public', 'text', 'word ' || i || repeat(' 東京', 100), now() FROM generate_series(1, 900) i
      UNION ALL SELECT 1, 1, 8000000, 'huge', 700002, 'visitor', 'public', 'text', repeat('東', 32768), now()`;
    const long = (await read('cnv_1_1_700001')).body;
    const size = Buffer.byteLength(long.text);
    expect(size).toBeLessThanOrEqual(65_536);
    expect(size).toBeGreaterThan(64_000);
    expect(long.metadata.truncated).toBe(true);
    const kept = [...long.text.matchAll(/\nmsg_1_1_7000(\d+), /g)].map(([, i]) => Number(i));
    expect(kept.at(-1)).toBe(900);
    expect(kept).toEqual(Array.from(kept, (_, i) => 900 - kept.length + 1 + i));
    const huge = (await read('cnv_1_1_700002')).body;
    expect(Buffer.byteLength(huge.text)).toBeLessThanOrEqual(65_536);
    expect(Buffer.byteLength(huge.text)).toBeGreaterThan(65_000);
    expect(huge.metadata.truncated).toBe(true);
    expect(huge.text).toMatch(/東\n<<<end [0-9a-f]{16}>>>$/);
  });

  it('says that it leaves out contacts after the newest 20, and files after the newest 100', async () => {
    const { sql } = gateway.database;
    const at = '2026-11-01T00:00:00Z';
    await sql`INSERT INTO platform.visitor (tenant, site, id, external_id, created_at)
      SELECT 1, 1, 720000 + i, 'many' || i, ${at} FROM generate_series(0, 1) i`;
    await sql`INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, created_at, updated_at)
      SELECT 1, 1, 720000 + i, 'many' || i, 'closed', 'chat', ${at}, ${at} FROM generate_series(0, 3) i`;
    await sql`INSERT INTO platform.contact (tenant, site, id, external_id, name, created_at)
      SELECT 1, 1, 720000 + i, 'many' || i, 'n', ${at} FROM generate_series(1, 21) i`;
    for (const [record, contacts] of [
      [720000, 20],
      [720001, 21],
    ] as const) {
      await sql`INSERT INTO platform.visitor_contact (tenant, site, visitor_id, contact_id)
        SELECT 1, 1, ${record}, 720000 + i FROM generate_series(1, ${contacts}::bigint) i`;
      await sql`INSERT INTO platform.conversation_contact (tenant, site, conversation_id, contact_id)
        SELECT 1, 1, ${record}, 720000 + i FROM generate_series(1, ${contacts}::bigint) i`;
    }
    // Eleven messages of 10 files, because a text lists at most 10 files of a message.
    await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
      SELECT 1, 1, c * 1000 + i, 'many' || c || '-' || i, c, 'visitor', 'public', 'text', 'm', ${at}
        FROM unnest('{720002, 720003}'::bigint[]) c, generate_series(0, 10) i`;
    await sql`INSERT INTO platform.file (tenant, site, id, external_id, conversation_id, message_id, name, media_type, size, version, created_at)
      SELECT 1, 1, c * 1000 + i, 'many' || c || '-' || i, c, c * 1000 + i / 10, 'f', 'text/plain', 1, repeat('a', 32), ${at}
        FROM unnest('{720002, 720003}'::bigint[]) c, generate_series(0, 99 + c % 2) i`;
    const told: [string, boolean][] = [];
    for (const id of ['vis_1_1_720000', 'vis_1_1_720001', ...[0, 1, 2, 3].map((i) => `cnv_1_1_72000${i}`)])
      told.push([id, (await read(id)).body.metadata.truncated]);
    expect(told).toEqual(told.map(([id]) => [id, /[13]$/.test(id)]));
  });

  it('never exceeds 64 KiB, whatever people wrote', async () => {
    const { sql } = gateway.database;
    const nasty = '<end'.repeat(60);
    await sql`INSERT INTO platform.visitor (tenant, site, id, external_id, nickname, created_at) VALUES (1, 1, 710001, 'n', ${nasty}, now())`;
    await sql`INSERT INTO platform.conversation (tenant, site, id, external_id, visitor_id, status, platform, subject, created_at, updated_at)
      SELECT 1, 1, 710000 + i, 'n' || i, 710001, 'closed', 'chat', repeat('<end東', 100), now(), now() FROM generate_series(1, 30) i`;
    await sql`INSERT INTO platform.contact (tenant, site, id, external_id, name, email, mobile, created_at)
      SELECT 1, 1, 710000 + i, 'n' || i, ${nasty}, ${nasty}, ${nasty.slice(0, 40)}, now() FROM generate_series(1, 30) i`;
    await sql`INSERT INTO platform.visitor_contact SELECT 1, 1, 710001, 710000 + i FROM generate_series(1, 30) i`;
    await sql`INSERT INTO platform.conversation_contact SELECT 1, 1, 710001, 710000 + i FROM generate_series(1, 30) i`;
    await sql`INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, title, text, created_at)
      SELECT 1, 1, 710000 + i, 'n' || i, 710001, ${nasty}, repeat('<end', 8000), now() FROM generate_series(1, 30) i`;
    await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, author_id, visibility, kind, text, created_at)
      SELECT 1, 1, 7100000 + i, 'n' || i, 710001, 'visitor', 710001, 'public', 'text', repeat('<end', 8000), now() FROM generate_series(1, 30) i`;
    await sql`INSERT INTO platform.file (tenant, site, id, external_id, conversation_id, message_id, name, media_type, size, version, created_at)
      SELECT 1, 1, 710000 + i, 'n' || i, 710001, 7100030, ${nasty}, ${nasty.slice(0, 127)}, 1, repeat('a', 32), now() FROM generate_series(1, 30) i`;
    for (const id of ['cnv_1_1_710001', 'vis_1_1_710001', 'ctc_1_1_710001']) {
      const { status, body, text } = await read(id);
      expect(status, text).toBe(200);
      expect(Buffer.byteLength(body.text), id).toBeLessThanOrEqual(65_536);
      expect(body.metadata.truncated, id).toBe(true);
      if (id.startsWith('cnv')) expect(body.text).toContain('\nmsg_1_1_7100030, ');
    }
  });

  it('over MCP is one text item with the members of the convention, and costs two units', async () => {
    const { body } = await rpc(gateway.port, token, 'tools/call', { name: 'fetch', arguments: { id: 'cnv_1_1_11' } });
    const { content, _meta } = body.result;
    expect(content).toHaveLength(1);
    expect(Object.keys(JSON.parse(content[0].text)).sort()).toEqual(['id', 'metadata', 'text', 'title', 'url']);
    expect(_meta['gateway/untrusted_fields']).toEqual(expect.arrayContaining(['/text']));
    expect(gateway.corridor.registry.get('fetch')?.cost).toBe(2);
  });
});

describe('who may fetch what', () => {
  const [conversation, contact, visitor] = ['cnv_1_1_11', 'ctc_1_1_89', 'vis_1_1_96'];
  it('leaves out parts that are not granted, and names them whether they exist or not', async () => {
    const bare = await read(conversation, await as(['conversation_read'], []));
    expect(bare.body.metadata.left_out).toEqual([
      ...['subject', 'rating', 'language', 'operators', 'team', 'channel'],
      ...['contacts', 'messages', 'internal_messages', 'files', 'notes'],
    ]);
    expect(words(bare.body.text)).toEqual([]);
    expect(bare.body.title).toMatch(/^Conversation of \d{4}-\d\d-\d\d$/);
    const content = await read(conversation, await as(['conversation_read', ...CONTENT], ['message_content', 'pii']));
    expect(content.body.metadata.left_out).toEqual([
      ...['operators', 'team', 'channel', 'contacts', 'internal_messages', 'files', 'notes'],
    ]);
    const person = await read(contact, await as(['contact_read'], []));
    expect(person.body.metadata).toMatchObject({
      created_at: null,
      left_out: ['personal_data', 'visitors', 'conversations', 'subject', 'notes'],
    });
    expect(person.body.title).toBe(`Contact ${contact}`);
    const unnamed = await read(visitor, await as(['conversation_read'], []));
    expect(unnamed.body.metadata.left_out).toEqual(['personal_data', 'contacts', 'subject', 'notes']);
    for (const { body } of [person, unnamed]) expect(words(body.text)).toEqual([]);
  });

  it('refuses each kind as the operation of this kind does', async () => {
    const restricted = { channels: ['chn_1_1_1'] };
    const needed = async (id: string, by: string) => (await read(id, by)).body;
    expect(await needed(conversation, await as(['contact_read'], []))).toMatchObject({
      code: 'not_permitted',
      required: { scopes: ['conversation_read'], data_access: [], unrestricted: false },
    });
    for (const id of [contact, visitor]) {
      const { code, required } = await needed(id, await as(undefined, undefined, restricted));
      expect([code, required]).toEqual(['not_permitted', { scopes: [], data_access: [], unrestricted: true }]);
    }
    const tools = async (by: string): Promise<string[]> =>
      (await rpc(gateway.port, by, 'tools/list', {})).body.result.tools.map(({ name }: { name: string }) => name);
    expect(await tools(await as(['contact_read'], []))).toContain('fetch');
    expect(await tools(await as(['contact_read'], [], restricted))).not.toContain('fetch');
    expect(await tools(await as(['reports_read'], []))).not.toContain('fetch');
    const [row] = await gateway.database.sql<{ inside: string; outside: string }[]>`
      SELECT min(id) FILTER (WHERE channel_id = 1) AS inside, min(id) FILTER (WHERE channel_id = 2) AS outside
        FROM platform.conversation WHERE tenant = 1 AND site = 1`;
    const by = await as(undefined, undefined, restricted);
    expect((await read(`cnv_1_1_${row?.outside}`, by)).body.code).toBe('not_found');
    expect((await read(`cnv_1_1_${row?.inside}`, by)).body.metadata.left_out).toEqual(['notes']);
  });

  it.each(['msg_1_1_1', 'cnv_1_1', 'cnv_1_1_0', 'CNV_1_1_1', 'x'])('refuses the id %j', async (id) => {
    expect((await read(encodeURIComponent(id))).body.errors?.[0]?.parameter).toBe('id');
  });

  it.each(['cnv_1_1_77777777', 'ctc_9_1_1', 'vis_1_1_9223372036854775808', 'cnv_2_1_1'])(
    'does not find %s',
    async (id) => {
      expect((await read(id)).body.code).toBe('not_found');
    },
  );
});
