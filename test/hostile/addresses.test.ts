import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openAuthorities } from '../../src/auth/authority.ts';
import { newSecret } from '../../src/auth/tokens.ts';
import { readCredentials, updateCredential } from '../../src/store/administration/credentials.ts';
import type { Database } from '../../src/store/driver/postgres.ts';
import type { Answer } from '../support/answer.ts';
import type { Grant, Issued } from '../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { Client, type Door, handshake, newTicket, ORIGIN, openSession, Raw } from '../support/events/realtime.ts';
import { eventually } from '../support/eventually.ts';
import { type AskOptions, openTestGateway, type TestGateway } from '../support/gateway.ts';
import { KEYS } from '../support/keys.ts';
import { basic, consented, post as form, newClient, RESOURCE, type TestClient } from '../support/oauth/oauth.ts';
import { rpc as a2a, messageId, work } from '../support/surfaces/a2a.ts';
import { openStream } from '../support/surfaces/a2a-stream.ts';
import { rpc as mcp, post as mcpPost, modern } from '../support/surfaces/mcp.ts';
import { holdContacts } from '../support/surfaces/slow-work.ts';
import { writer } from '../support/surfaces/wire.ts';

/**
 * The addresses from which a credential may be used, over every interface. The tests are proxies on loopback, which name
 * the client in X-Forwarded-For. Two gateways share a store, and both remember the authority.
 */
const RANGE = '203.0.113.0/24';
const INSIDE = '203.0.113.9';
const OUTSIDE = '198.51.100.7';
const WEB = 'web_1_1';

let database: TestDatabase;
let gateways: TestGateway[];
let gateway: TestGateway;
let contact: string;

beforeAll(async () => {
  database = await freshDatabase('demo');
  const shared = { ...database, close: async () => undefined };
  const open = () => openTestGateway('demo', shared, KEYS, {}, undefined, undefined, false, ['loopback']);
  gateways = [await open(), await open()];
  [gateway] = gateways as [TestGateway]; // two were opened
  const { token } = await gateway.issue();
  contact = (await gateway.ask(`/api/v1/contacts?website_id=${WEB}`, { token })).body.data.data[0].id;
});
beforeEach(() => void gateway.log.splice(0));
afterAll(async () => {
  for (const one of gateways) await one.close();
  await database.close();
});

const by = (address: string): { readonly 'x-forwarded-for': string } => ({ 'x-forwarded-for': address });
const allow = (id: string, ranges: readonly string[]) => updateCredential(database.db, id, { allow_ip: ranges });

async function bound(grant: Grant = {}, ranges = [RANGE]): Promise<Issued> {
  const issued = await gateway.issue(grant);
  await allow(issued.credential, ranges);
  return issued;
}

const ask = (path: string, token: string, address: string, options: AskOptions = {}, at = gateway): Promise<Answer> =>
  at.ask(path, { ...options, token, headers: { ...options.headers, ...by(address) } });
const statusFrom = async (token: string, address: string, at = gateway): Promise<number> =>
  (await ask(`/api/v1/contacts/${contact}`, token, address, {}, at)).status;

/** One request for each way into the gateway with a bearer token. The last ones are wrong in themselves. */
const ROADS: [name: string, send: (token: string, address: string) => Promise<Answer>][] = [
  ...[
    ['a record', `/api/v1/contacts/CONTACT`],
    ['a list', `/api/v1/conversations?website_id=${WEB}`],
    ['no statement', '/api/v1/context'],
    ['what it may do', '/api/v1/access'],
    ['events', '/api/v1/events?subscription_id=sub_0&after=x'],
    ['a file', '/api/v1/files/fil_1_1_1/content'],
    ['a record that is not there', '/api/v1/conversations/cnv_1_1_777777'],
    ['an unknown parameter', '/api/v1/websites?nonsense=1'],
  ].map(([name = '', path = '']): (typeof ROADS)[number] => [
    `REST, ${name}`,
    (token, address) => ask(path.replace('CONTACT', contact), token, address),
  ]),
  ['REST, HEAD', (token, address) => ask('/api/v1/websites', token, address, { method: 'HEAD' })],
  [
    'REST, a write',
    (token, address) =>
      ask('/api/v1/conversations/cnv_1_1_1/disposition', token, address, {
        body: { disposition: 'x' },
        headers: { 'idempotency-key': messageId() },
      }),
  ],
  [
    'REST, a body that is no JSON',
    (token, address) =>
      ask('/api/v1/subscriptions', token, address, {
        raw: '{',
        headers: { 'content-type': 'application/json' },
        method: 'POST',
      }),
  ],
  [
    'a realtime session',
    (token, address) => ask('/api/v1/realtime/sessions', token, address, { body: {}, headers: { origin: ORIGIN } }),
  ],
  ...[
    ['initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }],
    ['ping', undefined],
    ['tools/list', undefined],
    ['tools/call', { name: 'websites_list', arguments: {} }],
    ['tools/call', { name: 'nonsense', arguments: {} }],
    ['tools/call', { name: 'contact_get', arguments: { nonsense: 1 } }],
    ['resources/list', undefined],
    ['prompts/list', undefined],
    ['skills/list', undefined],
    ['events/list', undefined],
    ['nonsense', undefined],
  ].map(([method, params]): (typeof ROADS)[number] => [
    `MCP, ${String(method)}`,
    (token, address) => mcp(gateway.port, token, String(method), params, { headers: by(address) }),
  ]),
  [
    'MCP, server/discover',
    (token, address) => modern(gateway.port, token, 'server/discover', {}, { headers: by(address) }),
  ],
  ['MCP, no JSON', (token, address) => mcpPost(gateway.port, token, '{', { headers: by(address) })],
  ...[
    ['SendMessage', () => work('contact_inspection', { contact_id: contact })],
    ['SendStreamingMessage', () => work('contact_inspection', { contact_id: contact })],
    ['SendMessage', () => work('nonsense', {})],
    ['GetTask', () => ({ id: `task_${'0'.repeat(32)}` })],
    ['SubscribeToTask', () => ({ id: `task_${'0'.repeat(32)}` })],
    ['ListTasks', () => ({})],
    ['CancelTask', () => ({ id: `task_${'0'.repeat(32)}` })],
    ['nonsense', () => ({})],
  ].map(([method, params]): (typeof ROADS)[number] => [
    `A2A, ${String(method)}`,
    (token, address) => {
      const given = typeof params === 'function' ? params() : params;
      return a2a(gateway.port, token, String(method), given, { headers: by(address) });
    },
  ]),
];

/** What a caller learns: everything but the id of the request and the date. */
const learned = ({ status, headers, text }: Answer): unknown => {
  const { 'x-request-id': id, date: _, ...rest } = headers;
  return { status, headers: rest, text: text.replaceAll(String(id), 'ID') };
};

describe('from elsewhere', () => {
  it.each(ROADS)('%s gets the answer for an unknown token, and pays nothing', async (_name, send) => {
    const one = await bound({ origins: [ORIGIN], perMinute: 1, burst: 2 });
    expect((await send(one.token, INSIDE)).status).not.toBe(401);
    const unknown = learned(await send(newSecret('installation_test'), OUTSIDE));
    expect(unknown).toMatchObject({ status: 401 });
    expect(unknown).toHaveProperty(['headers', 'www-authenticate'], expect.stringContaining('error="invalid_token"'));
    const other = await bound({ origins: [ORIGIN], perMinute: 1, burst: 1 });
    for (let i = 0; i < 5; i++) expect(learned(await send(other.token, OUTSIDE))).toEqual(unknown);
    expect(await statusFrom(other.token, INSIDE)).toBe(200);
    expect(await statusFrom(other.token, INSIDE)).toBe(429);
    expect(learned(await send(other.token, OUTSIDE))).toEqual(unknown);
  });

  it('nobody learns that a token has expired, is revoked or is for another interface', async () => {
    const { sql } = database;
    const [expired, revoked] = [await bound({ expires: '-1 hour' }), await bound()];
    await sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${revoked.credential}`;
    const client = await clientWith();
    const bearer = (await tokenFrom(client, INSIDE, { resource: RESOURCE.mcp })).body.access_token;
    for (const token of [expired.token, revoked.token, bearer]) {
      const outside = await ask('/api/v1/websites', token, OUTSIDE);
      expect([outside.status, outside.body.code]).toEqual([401, 'unauthenticated']);
      const inside = await ask('/api/v1/websites', token, INSIDE);
      expect(inside.body.code).toMatch(/^(token_expired|token_revoked|wrong_resource)$/);
    }
  });
});

describe('the client’s address', () => {
  it('an IPv4-mapped IPv6 address counts as the IPv4 address, in the address and in the range', async () => {
    const four = await bound();
    const mapped = await bound({}, ['203.0.113.0/24']);
    const six = await bound({}, ['::/0']);
    for (const [one, address, status] of [
      [four, `::ffff:${INSIDE}`, 200],
      [four, '::FFFF:cb00:7109', 200],
      [four, `::ffff:${OUTSIDE}`, 401],
      [mapped, INSIDE, 200],
      [six, INSIDE, 401],
      [six, `::ffff:${INSIDE}`, 401],
      [six, '2001:db8::1', 200],
    ] as const)
      expect(await statusFrom(one.token, address), address).toBe(status);
  });

  it('is the one that trusted proxies name, and not one that the client claims', async () => {
    const { token } = await bound();
    for (const [forwarded, status] of [
      [`${INSIDE}, ${OUTSIDE}`, 401],
      [`${OUTSIDE}, ${INSIDE}`, 200],
      [`${INSIDE}, 127.0.0.1`, 200],
      ['unknown', 401],
      ['', 401],
      // Some proxies tell the port, too.
      [`${INSIDE}:4711`, 200],
      [`${OUTSIDE}:4711`, 401],
      [`${INSIDE}:4711, 127.0.0.1:80`, 200],
      [`${INSIDE}:4711:4711`, 401],
      [`[${INSIDE}]:4711`, 401],
    ] as const)
      expect(await statusFrom(token, forwarded), forwarded).toBe(status);
    const six = await bound({}, ['2001:db8::/32']);
    for (const forwarded of ['[2001:db8::7]:443', '[2001:db8::7]', '2001:db8::7'])
      expect(await statusFrom(six.token, forwarded), forwarded).toBe(200);
    // Without trusted proxies, the peer is the client, whatever the header says.
    const own = await openTestGateway('demo', { ...database, close: async () => undefined });
    expect(await statusFrom(token, INSIDE, own)).toBe(401);
    const local = await bound({}, ['127.0.0.0/8']);
    expect(await statusFrom(local.token, OUTSIDE, own)).toBe(200);
    await own.close();
  });
});

describe('a change of the ranges acts at the next request, on both gateways', () => {
  it('narrower and wider, although each gateway remembers the authority', async () => {
    const { token, credential } = await gateway.issue();
    const both = async (address: string): Promise<number[]> => [
      await statusFrom(token, address, gateways[0]),
      await statusFrom(token, address, gateways[1]),
    ];
    for (let round = 0; round < 3; round++) {
      expect(await both(OUTSIDE)).toEqual([200, 200]);
      await allow(credential, [RANGE]);
      expect(await both(OUTSIDE)).toEqual([401, 401]);
      expect(await both(INSIDE)).toEqual([200, 200]);
      await allow(credential, [OUTSIDE]);
      expect(await both(INSIDE)).toEqual([401, 401]);
      expect(await both(OUTSIDE)).toEqual([200, 200]);
      await allow(credential, [RANGE, '198.51.100.0/24']);
      expect(await both(INSIDE)).toEqual([200, 200]);
      await allow(credential, []);
    }
  });

  it('a write whose authority was remembered leaves nothing', async () => {
    const own = await writer(gateway);
    const write = (address: string) =>
      ask('/api/v1/visitors/vis_1_1_1/notes', own.token, address, {
        body: { text: 'A note.' },
        headers: { 'idempotency-key': messageId() },
      });
    const count = async () => (await database.sql`SELECT 1 FROM gateway.operation`).length;
    expect((await write(OUTSIDE)).status).toBe(200);
    await allow(own.credential, [RANGE]);
    const before = await count();
    expect((await write(OUTSIDE)).status).toBe(401);
    expect(await count()).toBe(before);
  });

  it('the app of a stolen token keeps its turn: a refused look-up waits in the turn of its network', async () => {
    const { token, app } = await bound();
    const turns: string[] = [];
    const read: Database['read'] = (statement) => {
      turns.push(JSON.stringify(statement));
      return database.db.read(statement);
    };
    const { resolve, fresh } = openAuthorities({ read } as Database); // authorities only read
    await fresh(token, 'rest', INSIDE);
    await fresh(token, 'rest', INSIDE);
    await expect(resolve(token, 'rest', OUTSIDE)).rejects.toMatchObject({ details: { logged: 'address_refused' } });
    expect(turns.map((turn) => [turn.includes(app), turn.includes(INSIDE), turn.includes(OUTSIDE)])).toEqual([
      [false, true, false],
      [true, false, false],
      [false, false, true],
    ]);
  });
});

describe('sockets', () => {
  const door: Door = { port: 0, ask: (path, options = {}) => ask(path, options.token ?? '', INSIDE, options) };
  const upgrade = async (session: Parameters<typeof handshake>[0], address: string): Promise<[number, string]> => {
    const raw = new Raw(gateway.port);
    const status = await raw.upgrade(handshake(session, { 'X-Forwarded-For': address }));
    raw.socket.destroy();
    return [status, raw.received.toString('latin1').replaceAll(/req_\w+|Date: .*/g, '')];
  };

  it('a ticket opens nothing from elsewhere, with the answer for a wrong ticket, and is not used up', async () => {
    const one = await bound({ origins: [ORIGIN] });
    const session = await openSession(door, one.token);
    const elsewhere = await upgrade(session, OUTSIDE);
    const wrong = await upgrade({ ...session, ticket: 'A'.repeat(43) }, OUTSIDE);
    expect(elsewhere[0]).toBe(404);
    expect(elsewhere).toEqual(wrong);
    expect((await upgrade(session, INSIDE))[0]).toBe(101);
    const path = `/api/v1/realtime/sessions/${session.session_id}/tickets`;
    const ticket = await ask(path, one.token, OUTSIDE, { body: {}, headers: { origin: ORIGIN } });
    expect(ticket.status).toBe(401);
    const ticketed = { ...session, ticket: await newTicket(door, one.token, session.session_id) };
    expect((await upgrade(ticketed, INSIDE))[0]).toBe(101);
  });

  it('an open socket outside of the new ranges closes within 2 s, and one inside stays', async () => {
    const one = await bound({ origins: [ORIGIN] }, [RANGE, OUTSIDE]);
    const sockets = await Promise.all(
      [INSIDE, `::ffff:${INSIDE}`, OUTSIDE].map(async (address) => {
        const client = new Client(gateway.port, await openSession(door, one.token), ORIGIN, by(address));
        await client.next('ready');
        return client;
      }),
    );
    const [inside, mapped, outside] = sockets as [Client, Client, Client]; // three were opened
    await allow(one.credential, [RANGE]);
    const began = performance.now();
    expect(await outside.closed).toBe(4401);
    expect(performance.now() - began).toBeLessThan(2_500);
    await pause(1_500);
    for (const client of [inside, mapped]) {
      expect(client.socket.readyState).toBe(client.socket.OPEN);
      client.end();
    }
  });
});

describe('A2A', () => {
  const inspect = () => work('contact_inspection', { contact_id: contact });

  it('an open stream outside of the new ranges ends within 2 s, and one inside goes on', async () => {
    const one = await bound({}, [RANGE, OUTSIDE]);
    await holdContacts(database.sql, 4_000);
    const open = (address: string, method: string, params: object) =>
      openStream(gateway.port, one.token, method, params, { 'a2a-version': '1.0', ...by(address) });
    const inside = await open(INSIDE, 'SendStreamingMessage', inspect());
    await eventually(() => expect(inside.events).toHaveLength(1));
    const outside = await open(OUTSIDE, 'SubscribeToTask', { id: inside.events[0].result.task.id });
    await eventually(() => expect([inside.events.length, outside.events.length]).toEqual([1, 1]));
    await allow(one.credential, [RANGE]);
    const began = performance.now();
    expect(await outside.ended).toBe(true);
    expect(performance.now() - began).toBeLessThan(2_500);
    expect(outside.events.at(-1)).toHaveProperty('error');
    expect(inside.events.filter(({ error }) => error !== undefined)).toEqual([]);
    inside.close();
  });

  it('the reads of a task count as calls from the address of its sender', async () => {
    const one = await bound();
    const sent = await a2a(gateway.port, one.token, 'SendMessage', inspect(), { headers: by(INSIDE) });
    expect(sent.body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
    const { id } = sent.body.result.task;
    for (const [address, status] of [
      [INSIDE, 200],
      [OUTSIDE, 401],
    ] as const)
      expect((await a2a(gateway.port, one.token, 'GetTask', { id }, { headers: by(address) })).status).toBe(status);
  });

  it('a task whose sender is outside of ranges that came meanwhile publishes nothing', async () => {
    const one = await bound({}, [RANGE, OUTSIDE]);
    await holdContacts(database.sql, 500);
    const sending = a2a(gateway.port, one.token, 'SendMessage', inspect(), { headers: by(OUTSIDE) });
    await pause(150);
    await allow(one.credential, [RANGE]);
    const sent = await sending;
    expect([sent.status, sent.body.code]).toEqual([401, 'unauthenticated']);
    const { tasks } = (await a2a(gateway.port, one.token, 'ListTasks', {}, { headers: by(INSIDE) })).body.result;
    expect(tasks).toHaveLength(1);
    expect(tasks[0].status.state).toBe('TASK_STATE_FAILED');
  });
});

const clientWith = async (ranges = [RANGE]): Promise<TestClient> => {
  const client = await newClient(gateway);
  await allow(client.credential, ranges);
  return client;
};
const tokenFrom = (client: TestClient, address: string, fields: Record<string, string>, at = gateway) =>
  form(
    at,
    '/oauth/token',
    { grant_type: 'client_credentials', resource: RESOURCE.rest, ...fields },
    { authorization: basic(client), ...by(address) },
  );

describe('OAuth', () => {
  it('the client gets the answer for a wrong secret, for each grant and for a revocation', async () => {
    const client = await clientWith();
    const wrong = { ...client, secret: newSecret('secret') };
    const inside = await tokenFrom(client, INSIDE, {});
    expect(inside.status).toBe(200);
    for (const fields of [
      { grant_type: 'client_credentials' },
      { grant_type: 'authorization_code', code: 'x', redirect_uri: client.callback, code_verifier: 'x'.repeat(43) },
      { grant_type: 'refresh_token', refresh_token: 'x' },
      { grant_type: 'nonsense' },
    ]) {
      const refused = learned(await tokenFrom(wrong, OUTSIDE, fields));
      expect(refused, fields.grant_type).toMatchObject({ status: 401 });
      expect(learned(await tokenFrom(client, OUTSIDE, fields)), fields.grant_type).toEqual(refused);
    }
    const { access_token: token } = inside.body;
    const revoking = (of: TestClient) =>
      form(gateway, '/oauth/revoke', { token }, { authorization: basic(of), ...by(OUTSIDE) });
    expect(learned(await revoking(client))).toEqual(learned(await revoking(wrong)));
    expect((await ask('/api/v1/websites', token, INSIDE)).status).toBe(200);
    expect((await ask('/api/v1/websites', token, OUTSIDE)).status).toBe(401);
  });

  it('the browser of a person may be anywhere, and an attempt from elsewhere does not use up code or refresh token', async () => {
    const client = await clientWith();
    const { exchange } = await consented(gateway, client, { choice: { renewal: 'yes' } });
    expect((await tokenFrom(client, OUTSIDE, exchange)).status).toBe(401);
    const first = await tokenFrom(client, INSIDE, exchange);
    expect(first.status, first.text).toBe(200);
    const refresh = { grant_type: 'refresh_token', refresh_token: first.body.refresh_token };
    expect((await tokenFrom(client, OUTSIDE, refresh)).status).toBe(401);
    const second = await tokenFrom(client, INSIDE, refresh);
    expect(second.status, second.text).toBe(200);
    expect(await statusFrom(second.body.access_token, OUTSIDE)).toBe(401);
  });

  it('a change of the ranges acts at the next request, although both gateways remember the client', async () => {
    const client = await clientWith([]);
    const both = async (address: string): Promise<number[]> => [
      (await tokenFrom(client, address, {}, gateways[0])).status,
      (await tokenFrom(client, address, {}, gateways[1])).status,
    ];
    expect(await both(OUTSIDE)).toEqual([200, 200]);
    await allow(client.credential, [RANGE]);
    expect(await both(OUTSIDE)).toEqual([401, 401]);
    expect(await both(INSIDE)).toEqual([200, 200]);
    await allow(client.credential, [OUTSIDE]);
    expect(await both(OUTSIDE)).toEqual([200, 200]);
  });
});

describe('the log', () => {
  const told = (): Record<string, unknown>[] =>
    gateway.log.map((line) => JSON.parse(line)).filter(({ code }) => code === 'address_refused');

  it('names the credential and the address of each refusal as address_refused', async () => {
    const client = await clientWith();
    await database.sql`UPDATE gateway.credential SET origins = ${[ORIGIN]} WHERE id = ${client.credential}`;
    const { token, credential } = client;
    const door: Door = { port: 0, ask: (path, options = {}) => ask(path, token, INSIDE, options) };
    const session = await openSession(door, token);
    gateway.log.splice(0);
    await ask('/api/v1/websites', token, OUTSIDE);
    await mcp(gateway.port, token, 'tools/list', undefined, { headers: by(OUTSIDE) });
    await a2a(gateway.port, token, 'ListTasks', {}, { headers: by(OUTSIDE) });
    await tokenFrom(client, OUTSIDE, {});
    const raw = new Raw(gateway.port);
    await raw.upgrade(handshake(session, { 'X-Forwarded-For': OUTSIDE }));
    const about = { audit: 'authentication', decision: 'refused', credential, source: OUTSIDE };
    await eventually(() => expect(told()).toHaveLength(5));
    expect(told().map(({ operation }) => operation)).toEqual([
      'websites_list',
      'mcp',
      'a2a',
      'oauth_token',
      'realtime_socket',
    ]);
    for (const line of told()) expect(line).toMatchObject(about);
  });
});

it('the store holds no more than twenty ranges of a credential', async () => {
  const { credential } = await gateway.issue();
  await expect(
    allow(
      credential,
      Array.from({ length: 21 }, (_, i) => `10.0.0.${i}`),
    ),
  ).rejects.toThrow();
  expect((await readCredentials(database.db, { id: credential }))[0]?.allow_ip).toEqual([]);
});
