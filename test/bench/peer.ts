import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import express from 'express';
import postgres from 'postgres';
import { z } from 'zod';
import { a2aPeer } from './a2a-peer.ts';

/**
 * The peer with which the bench compares the gateway: three reads as a careful developer writes them by hand, with
 * express and `postgres`. Each read looks up the token and then runs the gateway's own query. The reads are also MCP
 * tools, in the SDK's documented pattern for servers without sessions, and the first read is an A2A task of the SDK's
 * default handler. The peer has no quota, no restrictions, no masks and no audit.
 *
 * On the next port, a bare server answers every request with one contact: `node:http`, one prepared statement, no token,
 * no routes. No server with an authority can be as fast, so the ratio to it says what the rest costs.
 */
const sql = postgres({
  host: process.env['PEER_HOST'] ?? '',
  port: Number(process.env['PEER_DB_PORT']),
  database: 'gateway',
  username: 'postgres',
  max: 8,
});
const app = express();

app.use(async (request, response, next) => {
  const token = request.headers.authorization?.slice(7) ?? '';
  const digest = createHash('sha256').update(token).digest();
  const [credential] = await sql`
    SELECT c.id, c.scopes FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
     WHERE t.digest = ${digest} AND c.revoked_at IS NULL AND c.expires_at > now()`;
  response.locals['credential'] = credential?.['id'];
  if (!credential) response.status(401).json({ error: 'unauthorized' });
  else next();
});

const parts = (id: string): string[] => id.split('_').slice(1);

async function contactOf(publicId: string): Promise<object | undefined> {
  const [tenant = '', site = '', id = ''] = parts(publicId);
  const [contact] = await sql`
    SELECT id, blocked, name, first_name, last_name, email, mobile, mobile_e164, phone, phone_e164, company, language,
           country, time_zone, created_at, updated_at
      FROM platform.contact WHERE tenant = ${tenant} AND site = ${site} AND id = ${id} AND NOT deleted`;
  return contact && { data: { contact: { ...contact, id: publicId, access: { pii: true } } } };
}

app.get('/api/v1/contacts/:id', async (request, response) => {
  const body = await contactOf(request.params.id);
  if (!body) response.status(404).json({ error: 'not found' });
  else response.json(body);
});

// The peer makes a write idempotent by hand: the key is unique, and a second INSERT with the same key does nothing.
await sql`CREATE TABLE IF NOT EXISTS public.peer_note (
  key text PRIMARY KEY, tenant bigint NOT NULL, site bigint NOT NULL, id bigint GENERATED ALWAYS AS IDENTITY,
  visitor_id bigint NOT NULL, text text NOT NULL, created_at timestamptz NOT NULL DEFAULT now())`;

app.post('/api/v1/visitors/:id/notes', express.json(), async (request, response) => {
  const [tenant = '', site = '', visitor = ''] = parts(String(request.params['id']));
  const { text } = request.body as { text: string }; // the bench always sends a body of this shape
  const [note] = await sql`
    INSERT INTO public.peer_note (key, tenant, site, visitor_id, text)
    VALUES (${request.get('idempotency-key') ?? ''}, ${tenant}, ${site}, ${visitor}, ${text})
    ON CONFLICT (key) DO NOTHING RETURNING id, text, created_at`;
  response.json({ data: { success: true, visitor_id: request.params['id'], note } });
});

// What the gateway keeps of a note, by hand: the key with its outcome, the author, the note, its receipt at the website's
// next position, and a record of who did it. One statement is one round trip and one commit. Positions have no gaps, so
// writers of one website wait for each other's commit.
await sql.unsafe(`
  CREATE TABLE IF NOT EXISTS public.kept_operation (key text PRIMARY KEY, credential_id text NOT NULL, fingerprint bytea NOT NULL,
    outcome json NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
  CREATE TABLE IF NOT EXISTS public.kept_note (tenant bigint, site bigint, id bigint GENERATED ALWAYS AS IDENTITY, key text UNIQUE NOT NULL,
    visitor_id bigint NOT NULL, operator_id bigint NOT NULL, text text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, site, id));
  CREATE INDEX IF NOT EXISTS kept_note_visitor ON public.kept_note (tenant, site, visitor_id, id);
  CREATE TABLE IF NOT EXISTS public.kept_head (tenant bigint, site bigint, position bigint NOT NULL, PRIMARY KEY (tenant, site));
  CREATE TABLE IF NOT EXISTS public.kept_journal (tenant bigint, site bigint, position bigint, type text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (tenant, site, position));
  CREATE TABLE IF NOT EXISTS public.kept_audit (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), at timestamptz NOT NULL DEFAULT now(),
    credential_id text NOT NULL, operation text NOT NULL, target text NOT NULL, key text NOT NULL, address text NOT NULL);
  CREATE INDEX IF NOT EXISTS kept_audit_credential ON public.kept_audit (credential_id, at);
  CREATE INDEX IF NOT EXISTS kept_audit_target ON public.kept_audit (target, at);
  INSERT INTO public.kept_head SELECT tenant, site, 0 FROM platform.website ON CONFLICT DO NOTHING`);

app.post('/kept/visitors/:id/notes', express.json(), async (request, response) => {
  const visitor = String(request.params['id']);
  const [tenant = '', site = '', id = ''] = parts(visitor);
  const { text } = request.body as { text: string }; // the bench always sends a body of this shape
  const key = request.get('idempotency-key') ?? '';
  const fingerprint = createHash('sha256').update(`${visitor} ${text}`).digest();
  const [kept] = await sql`
    WITH author AS (
      SELECT a.credential_id, o.id, o.name FROM gateway.native_author a
        JOIN platform.operator o ON o.tenant = a.tenant AND o.site = a.site AND o.id = a.operator_id
       WHERE a.credential_id = ${String(response.locals['credential'])} AND a.tenant = ${tenant} AND a.site = ${site}
         AND EXISTS (SELECT FROM platform.conversation WHERE tenant = ${tenant} AND site = ${site} AND visitor_id = ${id})),
    operation AS (
      INSERT INTO public.kept_operation (key, credential_id, fingerprint, outcome)
      SELECT ${key}, credential_id, ${fingerprint}, json_build_object('author', name, 'created_at', now()) FROM author
      ON CONFLICT (key) DO NOTHING RETURNING outcome),
    note AS (
      INSERT INTO public.kept_note (tenant, site, key, visitor_id, operator_id, text)
      SELECT ${tenant}, ${site}, ${key}, ${id}, author.id, ${text} FROM operation, author RETURNING id),
    audit AS (
      INSERT INTO public.kept_audit (credential_id, operation, target, key, address)
      SELECT credential_id, 'visitor_note_add', ${visitor}, ${key}, ${request.ip ?? ''} FROM note, author),
    head AS (
      UPDATE public.kept_head SET position = position + 1 FROM note WHERE tenant = ${tenant} AND site = ${site} RETURNING position),
    journal AS (
      INSERT INTO public.kept_journal (tenant, site, position, type) SELECT ${tenant}, ${site}, position, 'visitor.changed' FROM head)
    SELECT note.id, operation.outcome FROM note, operation`;
  if (kept)
    response.json({ data: { success: true, visitor_id: visitor, note: { id: kept['id'], ...kept['outcome'] } } });
  else response.status(409).json({ error: 'repeated, or nobody may write here' });
});

const result = (body: object | undefined): CallToolResult =>
  body
    ? { content: [{ type: 'text', text: JSON.stringify(body) }], structuredContent: { data: body }, isError: false }
    : { content: [{ type: 'text', text: 'not found' }], isError: true };

app.post('/mcp', express.json(), async (request, response) => {
  const server = new McpServer({ name: 'peer', version: '1.0.0' });
  server.registerTool('contact_get', { inputSchema: { contact_id: z.string() } }, async ({ contact_id }) =>
    result(await contactOf(contact_id)),
  );
  server.registerTool('conversations_list', { inputSchema: { website_id: z.string() } }, async ({ website_id }) =>
    result(await conversationsOf(website_id)),
  );
  server.registerTool(
    'conversation_messages',
    { inputSchema: { conversation_id: z.string() } },
    async ({ conversation_id }) => result(await messagesOf(conversation_id)),
  );
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on('close', () => {
    void transport.close();
    void server.close();
  });
  // The SDK's class and the SDK's interface disagree under exactOptionalPropertyTypes.
  await server.connect(transport as Parameters<typeof server.connect>[0]);
  await transport.handleRequest(request, response, request.body);
});

app.use('/a2a', a2aPeer(contactOf));

async function conversationsOf(website: string): Promise<object> {
  const [tenant = '', site = ''] = parts(website);
  const rows = await sql`
    SELECT id, status, platform, channel_id, team_id, subsite_id, disposition, language, ai_involved, ai_escalated,
           visitor_id, message_count, created_at, updated_at, first_response_at, last_message_at, closed_at,
           rating_label, rating_score, operator_id, left(subject, 501) AS subject
      FROM platform.conversation WHERE tenant = ${tenant} AND site = ${site} ORDER BY id DESC LIMIT 26`;
  const conversations = rows.slice(0, 25).map((row) => ({
    id: `cnv_${tenant}_${site}_${row['id']}`,
    website_id: website,
    status: row['status'],
    platform: row['platform'],
    channel_id: row['channel_id'] && `chn_${tenant}_${site}_${row['channel_id']}`,
    team_id: row['team_id'] && `tem_${tenant}_${site}_${row['team_id']}`,
    subsite_id: row['subsite_id'] && `sst_${tenant}_${site}_${row['subsite_id']}`,
    disposition: row['disposition'],
    language: row['language'],
    ai: { involved: row['ai_involved'], escalated: row['ai_escalated'] },
    visitor_id: row['visitor_id'] && `vis_${tenant}_${site}_${row['visitor_id']}`,
    message_count: row['message_count'],
    created_at: row['created_at'],
    updated_at: row['updated_at'],
    first_response_at: row['first_response_at'],
    last_message_at: row['last_message_at'],
    closed_at: row['closed_at'],
    rating: row['rating_label'] && { label: row['rating_label'], score: row['rating_score'] },
    operator_id: row['operator_id'] && `opr_${tenant}_${site}_${row['operator_id']}`,
    subject: row['subject'],
    subject_truncated: false,
    access: { pii: true, message_content: true },
  }));
  return { data: { conversations, next_cursor: conversations.at(-1)?.id ?? null } };
}

app.get('/api/v1/conversations', async (request, response) => {
  response.json(await conversationsOf(String(request.query['website_id'])));
});

async function messagesOf(conversation: string): Promise<object | undefined> {
  const [tenant = '', site = '', id = ''] = parts(conversation);
  const [owner] =
    await sql`SELECT 1 FROM platform.conversation WHERE tenant = ${tenant} AND site = ${site} AND id = ${id}`;
  if (!owner) return undefined;
  const rows = await sql`
    SELECT m.id, m.author_type, m.author_id, v.nickname, o.name, m.visibility, m.kind, left(m.text, 32769) AS text,
           m.language, m.created_at, m.edited_at, m.delivery_status, m.in_reply_to, m.ai_generated, m.ai_feature_id,
           m.attachment_count, m.redacted
      FROM platform.message m
      LEFT JOIN platform.visitor v
        ON m.author_type = 'visitor' AND v.tenant = m.tenant AND v.site = m.site AND v.id = m.author_id
      LEFT JOIN platform.operator o
        ON m.author_type <> 'visitor' AND o.tenant = m.tenant AND o.site = m.site AND o.id = m.author_id
     WHERE m.tenant = ${tenant} AND m.site = ${site} AND m.conversation_id = ${id} AND m.visibility = 'public'
     ORDER BY m.id DESC LIMIT 51`;
  const messages = rows.slice(0, 50).map((row) => ({
    id: `msg_${tenant}_${site}_${row['id']}`,
    conversation_id: conversation,
    author: { type: row['author_type'], id: row['author_id'], name: row['nickname'] ?? row['name'] },
    visibility: row['visibility'],
    kind: row['kind'],
    text: row['text'],
    text_truncated: false,
    language: row['language'],
    created_at: row['created_at'],
    edited_at: row['edited_at'],
    delivery_status: row['delivery_status'],
    in_reply_to: row['in_reply_to'],
    ai: { generated: row['ai_generated'], feature_id: row['ai_feature_id'] },
    attachment_count: row['attachment_count'],
    redacted: row['redacted'],
  }));
  return { data: { conversation_id: conversation, messages, next_cursor: null } };
}

app.get('/api/v1/conversations/:id/messages', async (request, response) => {
  const body = await messagesOf(request.params.id);
  if (!body) response.status(404).json({ error: 'not found' });
  else response.json(body);
});

const bare = createServer(async (request, response) => {
  const text = JSON.stringify((await contactOf(request.url?.split('/').at(-1) ?? '')) ?? null);
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }).end(text);
});

const port = Number(process.env['PEER_PORT']);
bare.listen(port + 1, '127.0.0.1', () => app.listen(port, '127.0.0.1', () => process.stderr.write('peer ready\n')));
