import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Issued, issue } from '../support/credentials.ts';
import { bearer, Client, http, mcp, note, type Served, serve } from '../support/hostile/served.ts';

/**
 * Tests what the API contract does not describe: how long connections live, how much memory connections use, and what
 * the log says. Every request goes to a real `gateway serve`.
 */
let served: Served;
let attacker: Issued;
let victim: Issued;
/** A conversation with 100 messages of 32,768 characters. */
let long: string;

const LIST = 'GET /api/v1/conversations?website_id=web_1_1&limit=100';

beforeAll(async () => {
  served = await serve();
  const { sql } = served.database;
  const author = { authors: ['opr_1_1_3'] };
  [attacker, victim] = [await issue(sql, 1, author), await issue(sql, 1, author)];
  const [row] = await sql<{ id: string }[]>`
    SELECT conversation_id AS id FROM platform.message WHERE tenant = 1 AND site = 1 GROUP BY 1 ORDER BY count(*) DESC LIMIT 1`;
  await sql`
    INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
    SELECT 1, 1, 1000000 + n, 'long-' || n, ${row?.id ?? ''}::bigint, 'visitor', 'public', 'text',
           (SELECT string_agg(md5(n::text || k::text), '') FROM generate_series(1, 1024) k), now()
      FROM generate_series(1, 100) n`;
  long = `cnv_1_1_${row?.id}`;
});
afterAll(() => served.close());

const get = (token: string): Promise<Response> =>
  fetch(`${served.url}/api/v1/conversations?website_id=web_1_1&limit=100`, {
    headers: { authorization: `Bearer ${token}` },
  });

describe('pipelined requests', () => {
  it('replies that wait behind another one when the socket dies are given back: REST goes on for all', async () => {
    const bytes = http(LIST, [bearer(attacker.token)]).repeat(14);
    const clients = Array.from({ length: 120 }, () => new Client(served.port));
    for (const client of clients) {
      client.socket.pause();
      client.write(bytes);
    }
    await pause(2_500);
    for (const client of clients) client.socket.resetAndDestroy();
    await served.quiet();
    expect((await get(victim.token)).status).toBe(200);
  });

  it('a write behind a reply that nobody takes is either in the books or never begun', async () => {
    const clients = Array.from({ length: 20 }, (_, n) => {
      const client = new Client(served.port);
      client.socket.pause();
      const large = mcp(attacker.token, 'conversation_messages', { conversation_id: long, limit: 100 });
      client.write(`${large}${large}${note(attacker.token, `behind ${n}`)}${http(LIST, [bearer(attacker.token)])}`);
      return client;
    });
    await pause(1_500);
    for (const client of clients) client.socket.resetAndDestroy();
    await served.quiet();
    const [notes] = await served.database.sql<{ count: number }[]>`
      SELECT count(*)::integer FROM platform.note WHERE text LIKE 'behind %'`;
    const lines = () => served.lines().filter(({ operation }) => operation === 'visitor_note_add');
    // A busy machine delivers the lines late.
    await expect.poll(lines, { timeout: 10_000 }).toHaveLength(notes?.count ?? -1);
    expect(lines().map(({ audit }) => audit)).toEqual(lines().map(() => 'write'));
  });

  it('those without a token hold no memory once they have gone', async () => {
    await Client.send(served.port, http('GET /api/v1/websites').repeat(8), 500);
    const before = served.rss();
    for (let round = 0; round < 10; round++) {
      const clients = Array.from({ length: 100 }, () => new Client(served.port));
      for (const client of clients) {
        client.socket.pause();
        client.write(http('GET /api/v1/websites').repeat(80));
      }
      await pause(100);
      for (const client of clients) client.socket.resetAndDestroy();
    }
    await served.quiet();
    // If the gateway kept 140 KB for each connection, the memory would grow by 140 MB.
    expect(served.rss() - before).toBeLessThan(90);
  });

  it('a client that pipelines a few has its answers in their order; one that pipelines hundreds is disconnected', async () => {
    const pipeline = `${http('GET /livez').repeat(6)}${http('GET /x', ['Connection: close'])}`;
    const few = await Client.send(served.port, pipeline, 15_000);
    expect(few.answers().map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 404]);
    const many = new Client(served.port);
    many.write(http('GET /livez').repeat(400));
    await many.closed;
    expect(many.answers().length).toBeLessThan(10);
  });
});

describe('unread replies', () => {
  it('are bounded over MCP too, each app by its own share, and others are served meanwhile', async () => {
    await served.quiet();
    const before = served.rss();
    // Ask for seven pages on each connection. The kernel's buffers take the first pages, and only the later pages stay
    // in the gateway.
    const page = mcp(attacker.token, 'conversation_messages', { conversation_id: long, limit: 100 });
    const clients = Array.from({ length: 25 }, () => new Client(served.port));
    for (const client of clients) {
      client.socket.pause();
      client.write(page.repeat(7));
    }
    let most = 0;
    for (let i = 0; i < 20; i++) {
      most = Math.max(most, (await served.held()).unread);
      expect((await get(victim.token)).status).toBe(200);
      await pause(100);
    }
    expect(most).toBeGreaterThan(1024 * 1024);
    // This limit is higher than the app's share of memory, because some calls can start just before the app has used up
    // its share.
    expect(most).toBeLessThanOrEqual(20 * 1024 * 1024);
    expect(served.rss() - before).toBeLessThan(250);
    for (const client of clients) client.socket.resume();
    await expect.poll(() => clients.every((client) => client.answers().length === 7)).toBe(true);
    const statuses = clients.flatMap((client) => client.answers().map(({ status }) => status));
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    for (const client of clients) client.socket.destroy();
    await served.quiet();
  });
});

describe('what is no request', () => {
  const many = (n: number): string[] => Array.from({ length: n }, (_, i) => `X-${i}: 1`);

  it('more than a hundred fields are 400, at the socket’s address too; nothing behind the thousandth is believed', async () => {
    const socket = '/api/v1/realtime/sessions/rts_00000000000000000000000000000000/socket';
    for (const [line, ...fields] of [
      [`GET ${socket}`, 'Connection: Upgrade', 'Upgrade: websocket', ...many(110)],
      ['GET /api/v1/websites', bearer(victim.token), ...many(110)],
      ['GET /livez', 'Connection: Upgrade', 'Upgrade: h2c', ...many(110)],
      ['GET /api/v1/websites', bearer(victim.token), ...many(1_100), bearer(attacker.token)],
    ] as const) {
      const client = await Client.send(served.port, http(line, fields));
      expect(
        client.answers().map(({ status }) => status),
        line,
      ).toEqual([400]);
    }
    const fields = [bearer(victim.token), 'Connection: Upgrade', 'Upgrade: h2c', ...many(1_100)];
    const body = http('GET /api/v1/context', [bearer(victim.token)]);
    const smuggled = await Client.send(served.port, http('POST /api/v1/websites', fields, body));
    expect(smuggled.answers().map(({ status }) => status)).toEqual([400]);
  });

  it('an ignored offer to upgrade is answered like any request, once, and its connection ends', async () => {
    const offer = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'];
    const client = await Client.send(served.port, http('GET /livez', offer) + http('GET /livez'));
    expect(client.answers().map(({ status }) => status)).toEqual([200]);
    expect(client.received).toMatch(/\r\nConnection: close\r\n/i);
  });

  it('CONNECT, HTTP/0.9 and the preface of HTTP/2 are refused and closed, CONNECT never before what it stands behind', async () => {
    const connectTo = 'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n';
    const behind = await Client.send(served.port, http(LIST, [bearer(victim.token)]) + connectTo);
    expect(behind.answers().map(({ status }) => status)).toEqual([200, 405]);
    for (const [bytes, status] of [
      [connectTo, 405],
      ['GET /livez\r\n\r\n', 400],
      ['GET /livez HTTP/0.9\r\nHost: a\r\n\r\n', 400],
      ['GET /livez HTTP/2.0\r\nHost: a\r\n\r\n', 400],
      ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ] as const) {
      const client = new Client(served.port);
      client.write(bytes);
      await Promise.race([client.closed, pause(2_500)]);
      expect(
        client.answers().map((one) => one.status),
        JSON.stringify(bytes),
      ).toEqual([status]);
      expect(client.socket.destroyed, JSON.stringify(bytes)).toBe(true);
    }
  });

  it('PD-01 the type of a problem is an address also where nothing could be read', async () => {
    for (const bytes of [
      'rubbish\r\n\r\n',
      `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      'GET /livez\r\n\r\n',
    ]) {
      const client = await Client.send(served.port, bytes);
      expect(client.received).toContain(`"type":"${served.url}/problems/invalid_request"`);
    }
  });
});
