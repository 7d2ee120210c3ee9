import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, newSecret } from '../../../src/auth/tokens.ts';
import { SCOPES } from '../../../src/core/scopes.ts';
import { keepJournals } from '../../../src/events/journals.ts';
import {
  Client,
  connected,
  handshake,
  holder,
  newTicket,
  ORIGIN,
  openSession,
  plantWebsites,
  Raw,
  type Session,
} from '../../support/events/realtime.ts';
import { times } from '../../support/form.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';

let gateway: TestGateway;
let other: TestGateway;
let token: string;

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  other = await openTestGateway('empty', gateway.database);
  await plantWebsites(gateway.database.sql, 5);
  ({ token } = await holder(gateway));
});
afterAll(async () => {
  await other.realtime.stop();
  await gateway.close();
});

async function upgraded(bytes: string, door: TestGateway = gateway): Promise<number> {
  const raw = new Raw(door.port);
  const status = await raw.upgrade(bytes);
  raw.socket.destroy();
  return status;
}

const OPERATIONS = [
  { method: 'POST', path: '/api/v1/realtime/sessions', body: {} },
  { method: 'POST', path: `/api/v1/realtime/sessions/rts_${'0'.repeat(32)}/tickets`, body: {} },
  { method: 'DELETE', path: `/api/v1/realtime/sessions/rts_${'0'.repeat(32)}` },
  { method: 'GET', path: `/api/v1/realtime/sessions/rts_${'0'.repeat(32)}/socket` },
] as const;

describe('sessions', () => {
  it('tell what the socket needs, and nothing of theirs lies in the store in clear', async () => {
    const { ticket, ...session } = (
      await gateway.ask('/api/v1/realtime/sessions', { token, body: {}, headers: { origin: ORIGIN } })
    ).body;
    expect(ticket).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(session).toEqual({
      session_id: expect.stringMatching(/^rts_[a-f0-9]{32}$/),
      ticket_expires_at: expect.any(Number),
      socket_url: `ws://127.0.0.1:8420/api/v1/realtime/sessions/${session.session_id}/socket`,
      protocol: 'igw.realtime.v1',
      expires_at: expect.any(Number),
      heartbeat_seconds: 25,
      max_subscriptions: 20,
    });
    const [{ now } = { now: 0 }] = await gateway.database.sql<
      { now: number }[]
    >`SELECT (extract(epoch FROM now()) * 1000)::float8 AS now`;
    expect(Math.abs(session.ticket_expires_at - now - 30_000)).toBeLessThan(2_000);
    expect(Math.abs(session.expires_at - now - 3_600_000)).toBeLessThan(2_000);
    const [row] = await gateway.database.sql`SELECT * FROM gateway.realtime_session WHERE id = ${session.session_id}`;
    expect(JSON.stringify(row)).not.toContain(ticket);
  });

  it('do not outlive their token', async () => {
    const short = await holder(gateway, { expires: '10 minutes' });
    const { body } = await gateway.ask('/api/v1/realtime/sessions', {
      token: short.token,
      body: {},
      headers: { origin: ORIGIN },
    });
    expect(Math.abs(body.expires_at - Date.now() - 600_000)).toBeLessThan(5_000);
  });

  it('WS-01 Origin missing or twice is 400, not registered 404, on all four operations', async () => {
    for (const { method, path, ...rest } of OPERATIONS) {
      const ask = (headers: Record<string, string | string[]>) =>
        gateway.ask(path, { token, method, headers, ...rest });
      const missing = await ask({});
      expect([missing.status, missing.body.code], `${method} ${path}`).toEqual([400, 'invalid_request']);
      const twice = await ask({ origin: [ORIGIN, ORIGIN] });
      expect([twice.status, twice.body.code], `${method} ${path}`).toEqual([400, 'invalid_request']);
      if (method === 'GET') continue; // a GET without an upgrade opens no socket, so skip the check of its origin
      for (const origin of ['https://evil.example', 'null', 'https://APP.example', `${ORIGIN}/`, `${ORIGIN}:443`, '']) {
        const answer = await ask({ origin });
        expect([answer.status, answer.body.code], `${method} ${path} ${origin}`).toEqual([404, 'not_permitted']);
        const expected = 'an origin that is registered on the credential';
        expect(answer.body.errors).toEqual([{ parameter: 'Origin', code: 'invalid_parameter', expected }]);
      }
    }
  });

  it('are refused to restricted credentials and without a scope', async () => {
    for (const grant of [
      { channels: ['chn_1_1_1'] },
      { scopes: SCOPES.filter((scope) => scope !== 'event_read') },
      { scopes: SCOPES.filter((scope) => scope !== 'website_read') },
    ]) {
      const { token: less } = await holder(gateway, grant);
      for (const { method, path, ...rest } of OPERATIONS) {
        const answer = await gateway.ask(path, { token: less, method, headers: { origin: ORIGIN }, ...rest });
        expect([answer.status, answer.body.code], `${method} ${path}`).toEqual([404, 'not_permitted']);
        expect(answer.body.required).toBeDefined();
      }
    }
  });

  it('are refused to tokens of a person’s consent, and stand on client tokens until these end', async () => {
    const { sql } = gateway.database;
    const own = await holder(gateway);
    const [person, consent] = [`prs_${'a'.repeat(32)}`, `cns_${'b'.repeat(32)}`];
    await sql`INSERT INTO gateway.person (id, tenant, email, role) VALUES (${person}, 1, 'owner@example.test', 'owner')`;
    await sql`INSERT INTO gateway.consent (id, credential_id, person_id, request, audience, scopes, sites, renewable, code_digest,
        code_challenge, code_expires_at, redirect_uri, expires_at)
      SELECT ${consent}, c.id, ${person}, ${Buffer.alloc(32, 1)}, 'rest', c.scopes, c.sites, false, ${Buffer.alloc(32, 2)}, 'x', now(),
        'https://example.test', now() + interval '1 hour' FROM gateway.credential c WHERE c.id = ${own.credential}`;
    const given = async (of: string | null): Promise<string> => {
      const access = newSecret('access_test');
      await sql`INSERT INTO gateway.token (digest, credential_id, kind, audience, scopes, sites, consent_id, expires_at)
        SELECT ${digestOf(access)}, c.id, 'access', 'rest', c.scopes, c.sites, ${of}, now() + interval '10 minutes'
          FROM gateway.credential c WHERE c.id = ${own.credential}`;
      return access;
    };
    const personal = await given(consent);
    for (const { method, path, ...rest } of OPERATIONS) {
      const answer = await gateway.ask(path, { token: personal, method, headers: { origin: ORIGIN }, ...rest });
      expect([answer.status, answer.body.code], `${method} ${path}`).toEqual([404, 'not_permitted']);
    }
    const [first, second] = [await given(null), await given(null)];
    const session = await openSession(gateway, first);
    const client = new Client(gateway.port, session);
    const { expires_at } = await client.next('ready');
    expect(Math.abs(expires_at - Date.now() - 600_000)).toBeLessThan(5_000);
    // A new ticket binds the session to the second token. After that, the end of the first token closes only the socket
    // that the first token opened.
    const ticket = await newTicket(gateway, second, session.session_id);
    const next = new Client(other.port, { ...session, ticket });
    await next.next('ready');
    await sql`UPDATE gateway.token SET revoked_at = now() WHERE digest = ${digestOf(first)}`;
    expect([1008, 4401]).toContain(await client.closed);
    await pause(1_500);
    expect(next.socket.readyState).toBe(next.socket.OPEN);
    await sql`UPDATE gateway.token SET revoked_at = now() WHERE digest = ${digestOf(second)}`;
    expect(await next.closed).toBe(4401);
  });

  it('name granted websites only, and no credential but their own finds them', async () => {
    const one = await holder(gateway, { websites: ['web_1_1'] });
    const refused = await gateway.ask('/api/v1/realtime/sessions', {
      token: one.token,
      body: { website_ids: ['web_1_2'] },
      headers: { origin: ORIGIN },
    });
    expect([refused.status, refused.body.code]).toEqual([404, 'not_found']);
    const { session_id } = await openSession(gateway, token);
    const path = `/api/v1/realtime/sessions/${session_id}`;
    for (const [method, where, body] of [
      ['POST', `${path}/tickets`, {}],
      ['DELETE', path, undefined],
    ] as const) {
      const answer = await gateway.ask(where, { token: one.token, method, body, headers: { origin: ORIGIN } });
      expect([answer.status, answer.body.code], method).toEqual([404, 'not_found']);
    }
    const gone = () => gateway.ask(path, { token, method: 'DELETE', headers: { origin: ORIGIN } });
    expect([(await gone()).status, (await gone()).status]).toEqual([204, 404]);
  });

  it('a plain request for the socket is 426, and the operation is no MCP tool', async () => {
    const { session_id } = await openSession(gateway, token);
    const answer = await gateway.ask(`/api/v1/realtime/sessions/${session_id}/socket`, {
      token,
      headers: { origin: ORIGIN },
    });
    expect([answer.status, answer.body.code]).toEqual([426, 'upgrade_required']);
    const { body } = await gateway.ask('/api/v1/capabilities?website_id=web_1_1', { token });
    const names: string[] = body.data.operations.map((one: { operation: string }) => one.operation);
    expect(names.filter((name) => name.startsWith('realtime'))).toEqual([]);
    expect(names.length).toBeGreaterThan(40);
  });

  it('WS-09 a credential has a hundred at most: idle ones make room, held ones do not', async () => {
    const { token: busy, credential } = await holder(gateway);
    const ids: string[] = [];
    for (let i = 0; i < 100; i++) ids.push((await openSession(gateway, busy)).session_id);
    const ask = () => gateway.ask('/api/v1/realtime/sessions', { token: busy, body: {}, headers: { origin: ORIGIN } });
    // At the limit, the gateway may delete sessions that have no valid ticket. All sessions of this test have one, so
    // the gateway must keep all of them.
    expect([(await ask()).status, (await ask()).body.code]).toEqual([409, 'inventory_limit']);
    const { sql } = gateway.database;
    await sql`UPDATE gateway.realtime_session SET ticket_digest = NULL, held_until = now() + interval '1 minute' WHERE credential_id = ${credential}`;
    expect((await ask()).status).toBe(409);
    await sql`UPDATE gateway.realtime_session SET held_until = now() - interval '1 second' WHERE id = ${ids[7] ?? ''}`;
    const all = await Promise.all(Array.from({ length: 6 }, ask));
    expect(all.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
    const [{ n } = { n: 0 }] = await sql<
      { n: number }[]
    >`SELECT count(*)::integer AS n FROM gateway.realtime_session WHERE credential_id = ${credential}`;
    expect(n).toBe(100);
  });
});

it('sessions that have run out go with the round of the journals, what was acknowledged in them too', async () => {
  const { sql, db } = gateway.database;
  const [kept, gone] = [await openSession(gateway, token), await openSession(gateway, token)];
  for (const { session_id } of [kept, gone])
    await sql`INSERT INTO gateway.realtime_ack VALUES (${session_id}, 'sub', 1, 'cursor')`;
  await sql`UPDATE gateway.realtime_session SET expires_at = now() - interval '2 minutes' WHERE id = ${gone.session_id}`;
  await keepJournals(db);
  const ids = [kept.session_id, gone.session_id];
  expect(await sql`SELECT id FROM gateway.realtime_session WHERE id = ANY (${ids})`).toEqual([{ id: kept.session_id }]);
  expect(await sql`SELECT 1 FROM gateway.realtime_ack WHERE session_id = ${gone.session_id}`).toHaveLength(0);
});

describe('the upgrade', () => {
  it('WS-01 Origin missing, wrong, null or in another case is refused before the upgrade, and the ticket still works', async () => {
    const session = await openSession(gateway, token);
    const second = 'https://second.example';
    await gateway.database.sql`UPDATE gateway.credential SET origins = ${[ORIGIN, second]} WHERE id = (
      SELECT credential_id FROM gateway.realtime_session WHERE id = ${session.session_id})`;
    expect(await upgraded(handshake(session, { Origin: null }))).toBe(400);
    expect(await upgraded(handshake(session, { Origin: [ORIGIN, ORIGIN] }))).toBe(400);
    // The credential may use the first origin in this list, but the session was opened for another origin.
    for (const origin of [
      second,
      'null',
      'https://evil.example',
      'https://app.EXAMPLE',
      'http://app.example',
      `${ORIGIN}/`,
    ])
      expect(await upgraded(handshake(session, { Origin: origin })), origin).toBe(404);
    expect(await upgraded(handshake(session))).toBe(101);
  });

  it('WS-02 a ticket of another session, credential, spelling or in the address is refused and used up by none', async () => {
    const session = await openSession(gateway, token);
    const mine = await openSession(gateway, token);
    const { token: foreign } = await holder(gateway);
    const theirs = await openSession(gateway, foreign);
    expect(await upgraded(handshake({ ...session, ticket: mine.ticket }))).toBe(404);
    expect(await upgraded(handshake({ ...session, ticket: theirs.ticket }))).toBe(404);
    expect(await upgraded(handshake({ ...session, session_id: `rts_${'0'.repeat(32)}` }))).toBe(404);
    expect(await upgraded(handshake({ ...session, session_id: 'rts_x' }))).toBe(404);
    const last = session.ticket.at(-1) ?? '';
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    // The last character of a ticket has two unused bits. A ticket in which only these bits differ must be refused too.
    const same = alphabet[alphabet.indexOf(last) + 1] ?? '';
    expect(await upgraded(handshake({ ...session, ticket: session.ticket.slice(0, -1) + same }))).toBe(404);
    const inAddress = new Raw(gateway.port);
    expect(await inAddress.upgrade(handshake(session, {}, `?ticket=${session.ticket}`))).toBe(400);
    await inAddress.ended;
    const named = '"errors":[{"parameter":"ticket","code":"unsupported_parameter","expected":"no parameters"}]';
    expect(inAddress.received.toString()).toContain(named);
    expect(await upgraded(handshake(session, { 'Sec-WebSocket-Protocol': 'igw.realtime.v1' }))).toBe(400);
    expect(await upgraded(handshake(session, { 'Sec-WebSocket-Protocol': `ticket.${session.ticket}` }))).toBe(400);
    const two = `igw.realtime.v1, ticket.${mine.ticket}, ticket.${session.ticket}`;
    expect(await upgraded(handshake(session, { 'Sec-WebSocket-Protocol': two }))).toBe(400);
    const none = `igw.realtime.v1, ticket.`;
    expect(await upgraded(handshake(session, { 'Sec-WebSocket-Protocol': none }))).toBe(404);
    for (const one of [session, mine, theirs]) expect(await upgraded(handshake(one))).toBe(101);
    for (const one of [session, mine, theirs]) expect(await upgraded(handshake(one))).toBe(404);
  });

  const ROUNDS = times(8, 20);
  it(`WS-02 fifty at once with one ticket on two gateways: one gets in, ${ROUNDS} rounds`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const session = await openSession(gateway, token);
      const all = await Promise.all(
        Array.from({ length: 50 }, (_, i) => upgraded(handshake(session), i % 2 === 0 ? gateway : other)),
      );
      expect(all.filter((status) => status === 101)).toHaveLength(1);
      expect(all.filter((status) => ![101, 404, 503].includes(status))).toEqual([]);
    }
  });

  it('WS-02 a ticket ends after 30 seconds, with the next one, and with its session', async () => {
    const { sql } = gateway.database;
    const late = await openSession(gateway, token);
    await sql`UPDATE gateway.realtime_session SET ticket_expires_at = now() - interval '1 ms' WHERE id = ${late.session_id}`;
    expect(await upgraded(handshake(late))).toBe(404);
    const older = await openSession(gateway, token);
    const ticket = await newTicket(gateway, token, older.session_id);
    expect(await upgraded(handshake(older))).toBe(404);
    expect(await upgraded(handshake({ ...older, ticket }))).toBe(101);
    const closed = await openSession(gateway, token);
    await gateway.ask(`/api/v1/realtime/sessions/${closed.session_id}`, {
      token,
      method: 'DELETE',
      headers: { origin: ORIGIN },
    });
    expect(await upgraded(handshake(closed))).toBe(404);
    const revoked = await holder(gateway);
    const session = await openSession(gateway, revoked.token);
    await sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${revoked.credential}`;
    expect(await upgraded(handshake(session))).toBe(404);
  });

  // Half of the tickets differ from the true ticket in one bit. With 512 tickets, each of its 256 bits is flipped once.
  const FORGED = times(512, 10_000);
  it(`WS-02 ${FORGED} forged tickets open nothing, and the true one still does`, async () => {
    const session = await openSession(gateway, token);
    const forged = (): Session => ({ ...session, ticket: randomBytes(32).toString('base64url') });
    const seen = new Map<number, number>();
    let left = FORGED;
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        while (left-- > 0) {
          const bytes = Buffer.from(session.ticket, 'base64url');
          const bit = (left >> 1) % 256;
          bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
          const near = { ...session, ticket: bytes.toString('base64url') };
          const status = await upgraded(handshake(left % 2 === 0 ? near : forged()));
          seen.set(status, (seen.get(status) ?? 0) + 1);
        }
      }),
    );
    expect([...seen]).toEqual([[404, FORGED]]);
    await gateway.database
      .sql`UPDATE gateway.realtime_session SET ticket_expires_at = now() + interval '30 s' WHERE id = ${session.session_id}`;
    expect(await upgraded(handshake(session))).toBe(101);
  });

  it('WS-03 another version of the protocol is 426, a broken handshake 400', async () => {
    const session = await openSession(gateway, token);
    for (const version of ['8', '14', '0', '13, 8', null]) {
      const raw = new Raw(gateway.port);
      expect(await raw.upgrade(handshake(session, { 'Sec-WebSocket-Version': version })), String(version)).toBe(426);
      expect(raw.received.toString()).toMatch(/\r\nSec-WebSocket-Version: 13\r\n/);
      raw.socket.destroy();
    }
    expect(await upgraded(handshake(session, { 'Sec-WebSocket-Key': 'short' }))).toBe(400);
    expect(await upgraded(handshake(session, { 'Sec-WebSocket-Key': null }))).toBe(400);
    expect(await upgraded(handshake(session))).toBe(101);
  });

  it('an offer to upgrade anywhere else is ignored, also one with a body, and its connection ends with the reply', async () => {
    const offer = 'Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n';
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const post = `POST /mcp HTTP/1.1\r\n${offer}Authorization: Bearer ${token}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    for (const bytes of [`GET /livez HTTP/1.1\r\n${offer}\r\n`, post]) {
      const raw = new Raw(gateway.port);
      expect(await raw.upgrade(bytes)).toBe(200);
      await raw.ended;
    }
    const { session_id } = await openSession(gateway, token);
    const h2c = new Raw(gateway.port);
    const path = `/api/v1/realtime/sessions/${session_id}/socket`;
    // The gateway refuses every protocol other than WebSocket before it looks up the session. The refusal therefore
    // says nothing about the session.
    expect(await h2c.upgrade(`GET ${path} HTTP/1.1\r\n${offer.replace('websocket', 'h2c')}\r\n`)).toBe(426);
    await h2c.ended;
  });

  it('another socket of the session takes its place', async () => {
    const session = await openSession(gateway, token);
    const first = new Client(gateway.port, session);
    await first.next('ready');
    const ticket = await newTicket(gateway, token, session.session_id);
    const second = new Client(other.port, { ...session, ticket });
    await second.next('ready');
    expect(await first.closed).toBe(1008);
    second.end();
    await second.closed;
  });

  it('a stop closes sockets with 1012', async () => {
    const third = await openTestGateway('empty', gateway.database);
    const client = await connected(third, token);
    await third.realtime.stop();
    expect(await client.closed).toBe(1012);
    expect(client.frames.at(-1)).toMatchObject({ type: 'closing', code: 1012 });
  });
});
