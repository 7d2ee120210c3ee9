import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newSecret } from '../../src/auth/tokens.ts';
import { auditOf, brief, forgetAudit, type Kept } from '../support/audit.ts';
import type { Issued } from '../support/credentials.ts';
import { Client, holder, ORIGIN, openSession } from '../support/events/realtime.ts';
import { eventually } from '../support/eventually.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { KEYS } from '../support/keys.ts';
import { cookieOf, doorFrom, newPerson, PASSWORD, post, SAME } from '../support/oauth/oauth.ts';
import { rpc as a2a, work } from '../support/surfaces/a2a.ts';
import { rpc as mcp, modern } from '../support/surfaces/mcp.ts';
import { bytesOf, type Example, examples, freshKey, raw, writer } from '../support/surfaces/wire.ts';

/** E6: each call of a tool whose credential is known leaves exactly one record, on every surface. */
let gateway: TestGateway;
let own: Issued;
let organization: string;
let contact: string;
let visitor: string;
let note: Example;

beforeAll(async () => {
  gateway = await openTestGateway('demo', undefined, KEYS, {}, undefined, undefined, true);
  own = await writer(gateway);
  const [row] = await gateway.database.sql<
    { public_id: string }[]
  >`SELECT public_id FROM platform.organization WHERE tenant = 1`;
  organization = row?.public_id ?? '';
  const calls = await examples(gateway);
  note = calls.find(({ tool }) => tool.name === 'visitor_note_add') ?? expect.fail();
  contact = /ctc_\w+/.exec(calls.find(({ tool }) => tool.name === 'contact_get')?.url ?? '')?.[0] ?? '';
  visitor = /vis_\w+/.exec(note.url)?.[0] ?? '';
});
beforeEach(async () => {
  await pause(300);
  await forgetAudit(gateway.database);
});
afterAll(() => gateway.close());

const AGENT = { 'user-agent': 'probe/1.2 (x)' };
const ask = (path: string, token = own.token, headers: Record<string, string> = {}) =>
  gateway.ask(path, { token, headers: { ...AGENT, ...headers } });
const who = (issued = own): Kept => ({
  organization_id: organization,
  app_id: issued.app,
  installation_id: issued.installation,
  credential_id: issued.credential,
});
/** The milliseconds until the records of each call were visible. */
const waited: number[] = [];
/** The records after a moment in which more could come. */
async function records(n: number): Promise<Kept[]> {
  const began = performance.now();
  await eventually(async () => expect(await auditOf(gateway.database)).toHaveLength(n));
  waited.push(performance.now() - began);
  await pause(300);
  const all = await auditOf(gateway.database);
  expect(all).toHaveLength(n);
  for (const record of all) expect(record).toMatchObject({ seq: expect.anything(), digest: expect.anything() });
  return all;
}
const one = async (): Promise<Kept> => (await records(1))[0] ?? {};

describe('E6 books, REST', () => {
  it('a read of one record names it, the client, the network and the request', async () => {
    const began = Date.now();
    const answer = await ask(`/api/v1/contacts/${contact}`);
    const ended = Date.now();
    const record = await one();
    expect(brief(record)).toEqual({
      ...who(),
      ...{ website_id: 'web_1_1', client_name: 'probe', client_version: '1.2', surface: 'rest', replayed: false },
      ...{ operation: 'contact_get', targets: [contact], outcome: 'ok', status: 200, units: 1 },
      request_id: answer.headers['x-request-id'],
    });
    expect(record).toMatchObject({ address: '127.0.0.0/24', input_digest: expect.anything() });
    expect(record['duration_ms']).toBeGreaterThan(0);
    expect(Number(record['time'])).toBeGreaterThan(began - 500);
    expect(Number(record['time'])).toBeLessThan(ended + 500);
  });

  it('the network that a proxy names, also with a port, and no text that is no address', async () => {
    const shared = { ...gateway.database, close: async () => undefined };
    const proxied = await openTestGateway('demo', shared, KEYS, {}, undefined, undefined, true, ['loopback']);
    try {
      for (const [named, address] of [
        ['203.0.113.7:51234', '203.0.113.0/24'],
        ['[2001:db8:1:2::7]:443', '2001:db8:1::/48'],
        ['unknown', undefined],
      ] as const) {
        await forgetAudit(gateway.database);
        await proxied.ask(`/api/v1/contacts/${contact}`, { token: own.token, headers: { 'x-forwarded-for': named } });
        expect((await one())['address'], named).toBe(address);
      }
    } finally {
      await proxied.close();
    }
  });

  it('a list has its website and count, and names a record that it answers alone', async () => {
    const list = await ask('/api/v1/contacts?website_id=web_1_1&limit=7');
    expect(await one()).toMatchObject({ targets: [], website_id: 'web_1_1', count: list.body.data.data.length });
    await gateway.database.sql`DELETE FROM gateway.audit`;
    await ask('/api/v1/contacts?website_id=web_1_1&limit=1');
    expect(await one()).toMatchObject({ targets: [expect.stringMatching(/^ctc_1_1_/)], count: 1 });
  });

  it.each([
    ['invalid_parameter', 400, '/api/v1/contacts?website_id=web_1_1&limit=0', []],
    ['not_found', 404, '/api/v1/contacts/ctc_1_1_999999', ['ctc_1_1_999999']],
    ['invalid_parameter', 400, '/api/v1/contacts/zqx7canary', []],
    ['invalid_parameter', 400, '/api/v1/conversations/ctc_1_1_9/messages/ctc_1_1_9', ['ctc_1_1_9']],
  ])(
    'a refusal with %s leaves its code and status, and no text of the caller',
    async (outcome, status, path, targets) => {
      await ask(path);
      expect(await one()).toMatchObject({ ...who(), outcome, status, targets });
    },
  );

  it('a call beyond the scopes, beyond the quota, with an ended token or for another interface', async () => {
    const narrow = await gateway.issue({ scopes: ['health_read'] });
    await ask(`/api/v1/contacts/${contact}`, narrow.token);
    expect(await one()).toMatchObject({ ...who(narrow), outcome: 'not_permitted', status: 404, units: 1 });

    await gateway.database.sql`DELETE FROM gateway.audit`;
    const poor = await gateway.issue({ perMinute: 1, burst: 1 });
    await ask(`/api/v1/contacts/${contact}`, poor.token);
    await ask(`/api/v1/contacts/${contact}`, poor.token);
    expect(await records(2)).toMatchObject([
      { outcome: 'ok', units: 1 },
      { ...who(poor), outcome: 'quota_exceeded', status: 429, units: 0, operation: 'contact_get' },
    ]);

    for (const cached of [false, true])
      for (const [outcome, column] of [
        ['token_revoked', 'revoked_at'],
        ['token_expired', 'expires_at'],
      ] as const) {
        const ended = await gateway.issue();
        if (cached) await ask('/api/v1/websites', ended.token);
        await gateway.database.sql.unsafe(
          `UPDATE gateway.credential SET ${column} = now() WHERE id = '${ended.credential}'`,
        );
        await pause(300);
        await gateway.database.sql`DELETE FROM gateway.audit`;
        await ask(`/api/v1/contacts/${contact}`, ended.token);
        expect(await one()).toMatchObject({ ...who(ended), outcome, status: 401, units: 0, operation: 'contact_get' });
      }
    await gateway.database.sql`DELETE FROM gateway.audit`;
    await ask(`/api/v1/contacts/${contact}`, newSecret('installation_test'));
    await ask('/api/v1/nothing');
    await ask('/livez');
    await pause(600);
    expect(await auditOf(gateway.database)).toEqual([]);
  });

  it('a body that cannot be read, an answer that has not changed, and one that its client does not wait for', async () => {
    await gateway.ask(note.url, { token: own.token, raw: '{', headers: { 'content-type': 'application/json' } });
    expect(await one()).toMatchObject({
      ...who(),
      operation: 'visitor_note_add',
      outcome: 'invalid_json',
      status: 400,
    });
    await gateway.database.sql`DELETE FROM gateway.audit`;
    const { headers } = await ask(`/api/v1/contacts/${contact}`);
    await ask(`/api/v1/contacts/${contact}`, own.token, { 'if-none-match': String(headers['etag']) });
    expect((await records(2)).map(({ status }) => status)).toEqual([200, 304]);
    await gateway.database.sql`DELETE FROM gateway.audit`;
    const example = (await examples(gateway)).find(({ tool }) => tool.name === 'contact_get') ?? expect.fail();
    await gateway.database.sql.begin(async (lock) => {
      await lock`LOCK TABLE platform.contact IN ACCESS EXCLUSIVE MODE`;
      await raw(gateway.port, bytesOf(example, `Authorization: Bearer ${own.token}`), { patience: 300 });
    });
    expect(await one()).toMatchObject({ outcome: 'unfinished', operation: 'contact_get', targets: [contact] });
  });
});

describe('E6 books, writes', () => {
  const add = (key: string, text = 'zqx7canary noted') =>
    gateway.ask(note.url, { token: own.token, body: { text }, headers: { 'idempotency-key': key, ...AGENT } });

  it('the record is in the transaction of the write, and a repeated call leaves a record of its own', async () => {
    const key = freshKey();
    const first = await add(key);
    const now = await auditOf(gateway.database);
    expect(now).toHaveLength(1);
    const id = first.headers['x-gateway-operation-id'];
    const told = {
      ...who(),
      operation: 'visitor_note_add',
      targets: [visitor],
      operation_id: id,
      website_id: 'web_1_1',
    };
    expect(now[0]).toMatchObject({ ...told, outcome: 'ok', status: 200, replayed: false, client_name: 'probe' });
    await add(key);
    expect(await records(2)).toMatchObject([
      { ...told, replayed: false },
      { ...told, replayed: true },
    ]);
    await gateway.database.sql`DELETE FROM gateway.audit`;
    await add(key, 'another text');
    expect(await one()).toMatchObject({ outcome: 'idempotency_conflict', status: 409 });
  });

  it('a rejected write has its code, and a write that is rolled back has no record', async () => {
    const plan = (await examples(gateway)).find(({ tool }) => tool.name === 'config_plan') ?? expect.fail();
    const answer = await gateway.ask(plan.url, {
      token: own.token,
      body: { ...plan.body, expected_version: 99 },
      headers: { 'idempotency-key': freshKey() },
    });
    expect(answer.body.code).toBe('operation_conflict');
    expect(await one()).toMatchObject({ outcome: 'operation_conflict', status: 409, operation_id: expect.anything() });
    await gateway.database.sql`DELETE FROM gateway.audit`;
    const { sql } = gateway.database;
    await sql`ALTER TABLE gateway.audit RENAME TO audit_away`;
    try {
      const refused = await add(freshKey(), 'zqx7canary unbooked');
      expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable']);
      expect((await ask(`/api/v1/contacts/${contact}`)).status).toBe(200);
      const [row] = await sql`SELECT count(*)::integer AS notes FROM platform.note WHERE text = 'zqx7canary unbooked'`;
      expect(row).toEqual({ notes: 0 });
    } finally {
      await sql`ALTER TABLE gateway.audit_away RENAME TO audit`;
    }
    expect(await records(2)).toMatchObject([
      { outcome: 'service_unavailable', status: 503, operation: 'visitor_note_add' },
      { outcome: 'ok', operation: 'contact_get' },
    ]);
  });

  it('subscriptions and realtime sessions are writes, too, and a socket is a call of REST', async () => {
    const issued = await holder(gateway);
    const session = await openSession(gateway, issued.token);
    expect(await auditOf(gateway.database)).toMatchObject([{ operation: 'realtime_session_create', status: 201 }]);
    const client = new Client(gateway.port, session);
    await client.next('ready');
    client.socket.terminate();
    const body = {
      ...{ website_ids: ['web_1_1'], event_types: ['conversation.*'], payload_mode: 'thin' },
      ...{ delivery: { mode: 'pull' }, start: 'now' },
    };
    const headers = { 'idempotency-key': freshKey(), origin: ORIGIN };
    const made = await gateway.ask('/api/v1/subscriptions', { token: issued.token, body, headers });
    expect(made.status, made.text).toBe(201);
    const all = await records(3);
    expect(all.map(({ operation }) => operation).toSorted()).toEqual([
      'realtime_session_create',
      'realtime_socket',
      'subscription_create',
    ]);
    for (const record of all) expect(record).toMatchObject({ ...who(issued), surface: 'rest', outcome: 'ok' });
  });
});

describe('E6 books, MCP', () => {
  it('a call of a tool and a read of a resource leave a record, other methods none', async () => {
    await mcp(gateway.port, own.token, 'tools/list', {});
    await mcp(gateway.port, own.token, 'ping', {});
    await mcp(gateway.port, own.token, 'tools/call', { name: 'contact_get', arguments: { contact_id: contact } });
    expect(await one()).toMatchObject({ ...who(), surface: 'mcp', operation: 'contact_get', targets: [contact] });
    await gateway.database.sql`DELETE FROM gateway.audit`;
    await modern(gateway.port, own.token, 'tools/call', { name: 'contact_get', arguments: { contact_id: contact } });
    expect(await one()).toMatchObject({ client_name: 'test', client_version: '1.0.0', status: 200 });
  });

  it('a failed call has the status that REST has, and a tool that the credential cannot call is named', async () => {
    await modern(gateway.port, own.token, 'tools/call', {
      name: 'contact_get',
      arguments: { contact_id: 'ctc_1_1_999999' },
    });
    expect(await one()).toMatchObject({ outcome: 'not_found', status: 404, targets: ['ctc_1_1_999999'] });
    await gateway.database.sql`DELETE FROM gateway.audit`;
    const narrow = await gateway.issue({ scopes: ['health_read'] });
    await mcp(gateway.port, narrow.token, 'tools/call', { name: 'contact_get', arguments: { contact_id: contact } });
    await mcp(gateway.port, narrow.token, 'tools/call', { name: 'zqx7canary', arguments: {} });
    expect(await one()).toMatchObject({ ...who(narrow), outcome: 'not_permitted', status: 404 });
    await gateway.database.sql`DELETE FROM gateway.audit`;
    await gateway.database.sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${narrow.credential}`;
    await mcp(gateway.port, narrow.token, 'tools/call', { name: 'contact_get', arguments: { contact_id: contact } });
    expect(await one()).toMatchObject({
      ...who(narrow),
      outcome: 'token_revoked',
      status: 401,
      operation: 'contact_get',
    });
  });
});

describe('E6 books, A2A', () => {
  const inspect = (token: string, input: object) =>
    a2a(gateway.port, token, 'SendMessage', work('contact_inspection', input));

  it('a skill leaves a record, and each of its reads another one with the same request', async () => {
    const answer = await inspect(own.token, { contact_id: contact });
    const all = await records(2);
    const of = (operation: string): Kept => all.find((one) => one['operation'] === operation) ?? {};
    const told = {
      ...who(),
      surface: 'a2a',
      targets: [contact],
      request_id: answer.headers['x-request-id'],
      outcome: 'ok',
    };
    expect(of('contact_inspection')).toMatchObject({ ...told, units: 2 });
    expect(of('contact_get')).toMatchObject({ ...told, units: 0 });
  });

  it('a skill with wrong arguments or without scopes is refused once', async () => {
    await inspect(own.token, { contact_id: 'zqx7canary' });
    expect(await one()).toMatchObject({ operation: 'contact_inspection', outcome: 'invalid_parameter', status: 400 });
    await gateway.database.sql`DELETE FROM gateway.audit`;
    const narrow = await gateway.issue({ scopes: ['health_read'] });
    await inspect(narrow.token, { contact_id: contact });
    expect(await one()).toMatchObject({ ...who(narrow), operation: 'contact_inspection', outcome: 'not_permitted' });
  });

  it('a skill with a token that has ended leaves a record, whether or not the process has seen the token', async () => {
    for (const seen of [false, true]) {
      const ended = await gateway.issue();
      if (seen) {
        await inspect(ended.token, { contact_id: contact });
        await records(2);
        await gateway.database.sql`DELETE FROM gateway.audit`;
      }
      await gateway.database.sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${ended.credential}`;
      const told = { ...who(ended), surface: 'a2a', operation: 'contact_inspection', targets: [contact], units: 0 };
      expect((await inspect(ended.token, { contact_id: contact })).status).toBe(401);
      expect(await one()).toMatchObject({ ...told, outcome: 'token_revoked', status: 401 });
      await gateway.database.sql`DELETE FROM gateway.audit`;
      // A skill that there is not has no name in the books.
      await a2a(gateway.port, ended.token, 'SendMessage', work('zqx7canary', {}));
    }
    expect(await auditOf(gateway.database)).toEqual([]);
  });
});

describe('E6 books, pages', () => {
  it('a person who opens the page of a record is named, without a credential', async () => {
    const person = await newPerson(gateway);
    const form = { email: person.email, password: PASSWORD, organization: '' };
    const cookie = cookieOf(await post(doorFrom(gateway.port, '127.0.0.9'), `/c/${contact}/sign-in`, form, SAME));
    expect(await one()).toMatchObject({ person_id: person.id, operation: 'record_sign_in', outcome: 'ok' });
    await gateway.database.sql`DELETE FROM gateway.audit`;
    const view = (id: string) => gateway.ask(`/c/${id}`, { unchecked: true, headers: { cookie } });
    expect((await view(contact)).status).toBe(200);
    const record = await one();
    expect(record).toMatchObject({ person_id: person.id, surface: 'page', operation: 'record', targets: [contact] });
    expect(record).toMatchObject({ organization_id: organization, outcome: 'ok', status: 200 });
    expect(record).not.toHaveProperty('credential_id');
    await gateway.database.sql`DELETE FROM gateway.audit`;
    expect((await view('ctc_1_1_999999')).status).toBe(404);
    expect(await one()).toMatchObject({ outcome: 'not_found', status: 404, person_id: person.id });
  });
});

it('no record has content: neither the texts of calls nor those of answers', async () => {
  const canary = 'zqx7canary';
  await gateway.ask(note.url, {
    token: own.token,
    body: { text: canary },
    headers: { 'idempotency-key': canary, 'user-agent': `(${canary})` },
  });
  await ask(`/api/v1/contacts?website_id=web_1_1&query=${canary}`);
  await mcp(gateway.port, own.token, 'tools/call', { name: 'search', arguments: { query: canary } });
  await a2a(gateway.port, own.token, 'SendMessage', work('conversation_search', { query: canary }));
  const all = await records(5);
  expect(JSON.stringify(all)).not.toContain(canary);
  const [row] = await gateway.database
    .sql`SELECT count(*)::integer AS n FROM gateway.audit a WHERE a::text LIKE '%zqx7%'`;
  expect(row).toEqual({ n: 0 });
});

it('records are visible within a second', () => {
  const [least = Number.POSITIVE_INFINITY] = waited
    .slice()
    .sort((a, b) => a - b)
    .slice(Math.floor(waited.length / 4));
  expect(least).toBeLessThan(1_000);
});
