import { Agent, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pino from 'pino';
import { afterAll, beforeAll, expect } from 'vitest';
import { openOAuth } from '../../src/auth/oauth/services.ts';
import { newSecret } from '../../src/auth/tokens.ts';
import { SCOPES } from '../../src/core/scopes.ts';
import { Budget } from '../../src/surfaces/http/budget.ts';
import { openClientAddress } from '../../src/surfaces/http/client-address.ts';
import type { RequestHandler } from '../../src/surfaces/http/records.ts';
import { send } from '../../src/surfaces/http/reply.ts';
import { type RunningServer, startServer } from '../../src/surfaces/http/server.ts';
import { mcpSurface } from '../../src/surfaces/mcp/mcp.ts';
import { oauthSurface } from '../../src/surfaces/oauth/oauth.ts';
import { restSurface } from '../../src/surfaces/rest/rest.ts';
import { type Issued, issue } from '../support/credentials.ts';
import { itOnce as it, itInFull } from '../support/form.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../support/gateway.ts';
import { bearer, Client, http, mcp, note, serve } from '../support/hostile/served.ts';
import { formOf, newClient, newPerson, pkce, request, signedIn } from '../support/oauth/oauth.ts';

const KIB = 1024;
const BUDGETS = { unread: { inAll: 400 * KIB, share: 20 * KIB }, bodies: { inAll: 400 * KIB, share: 100 * KIB } };
const LARGE = 32 * 1024 * KIB;

let gateway: TestGateway;
let server: RunningServer;
let caller: Issued;
const lines: Record<string, unknown>[] = [];
beforeAll(async () => {
  gateway = await openTestGateway();
  caller = await gateway.issue({ authors: ['opr_1_1_3'] });
  // A reply that is larger than the kernel's buffer. A part of the reply stays in the gateway's memory and counts for
  // the caller's app.
  const large: RequestHandler = (request, response, { record }) => {
    if (request.url !== '/large' && request.url !== '/large-of-nobody') return false;
    if (request.url === '/large') record.app = caller.app;
    record.effect = true;
    send(request, response, 200, 'text/plain', Buffer.alloc(LARGE, 120));
    return true;
  };
  server = await startServer({
    host: '127.0.0.1',
    baseUrl: BASE_URL,
    port: 0,
    tls: undefined,
    log: pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    handlers: [
      large,
      oauthSurface(openOAuth({ baseUrl: BASE_URL, db: gateway.database.db, skillScopes: [] }), openClientAddress([])),
      restSurface(gateway.corridor, BASE_URL),
      mcpSurface(gateway.corridor, { baseUrl: BASE_URL, version: '0.0.0', resources: [], prompts: [], skillFiles: [] }),
    ],
    otherwise: (_request, response) => response.writeHead(404).end(),
    budgets: { ...BUDGETS, sockets: BUDGETS.unread },
  });
});
afterAll(async () => {
  await server.close();
  await gateway.close();
});

async function holding(path = '/large'): Promise<Client> {
  const client = new Client(server.port);
  client.socket.pause();
  client.write(http(`GET ${path}`));
  await expect.poll(() => server.held().unread).toBeGreaterThan(BUDGETS.unread.share);
  return client;
}

it('a caller whose share of unread answers is used up is refused before the call costs or does anything', async () => {
  const list = http('GET /api/v1/conversations?website_id=web_1_1&limit=100', [
    bearer(caller.token),
    'Connection: close',
  ]);
  const left = (client: Client): number => Number(/^ratelimit: "app";r=(\d+)/im.exec(client.received)?.[1]);
  const before = await Client.send(server.port, list);
  expect(before.answers().map(({ status }) => status)).toEqual([200]);
  const unread = await holding();
  const refused = await Client.send(server.port, list);
  expect(refused.answers().map(({ status }) => status)).toEqual([429]);
  expect(refused.received).toContain('"code":"answers_unread"');
  expect(refused.received).toMatch(/\r\nRetry-After: 1\r\n/i);
  const written = note(caller.token, 'refused before it was begun');
  expect((await Client.send(server.port, written, 500)).answers().map(({ status }) => status)).toEqual([429]);
  const [row] = await gateway.database.sql`SELECT 1 FROM platform.note WHERE text = 'refused before it was begun'`;
  expect(row).toBeUndefined();
  unread.socket.destroy();
  await expect.poll(() => server.held().unread).toBe(0);
  const after = await Client.send(server.port, list);
  expect(after.answers().map(({ status }) => status)).toEqual([200]);
  expect(left(before) - left(after)).toBeLessThanOrEqual(2);
  expect((await Client.send(server.port, written, 500)).answers().map(({ status }) => status)).toEqual([200]);
});

it('RL-04 a write that was done is never answered 429 for its size: its receipt is sent, and booked as allowed', async () => {
  // 4,000 characters take six bytes each in JSON, which makes an answer of 24 KB. The limit for unread bytes is 20 KB.
  const text = '\u0001'.repeat(4_000);
  for (const [n, bytes] of [
    http(
      'POST /api/v1/visitors/vis_1_1_96/notes',
      [bearer(caller.token), 'Content-Type: application/json', 'Idempotency-Key: large-rest', 'Connection: close'],
      JSON.stringify({ text }),
    ),
    mcp(caller.token, 'visitor_note_add', { visitor_id: 'vis_1_1_96', text, idempotency_key: 'large-mcp' }),
  ].entries()) {
    lines.length = 0;
    const client = await Client.send(server.port, bytes, 700);
    expect(
      client.answers().map(({ status }) => status),
      String(n),
    ).toEqual([200]);
    expect(client.received.length).toBeGreaterThan(20 * KIB);
    expect(lines.filter(({ audit }) => audit === 'write').map(({ decision }) => decision)).toEqual(['allowed']);
  }
});

it('a page that a network cannot get while it leaves answers unread is away, and its request is not wrong', async () => {
  const client = await newClient(gateway, { scopes: SCOPES });
  const query = formOf(request(client, pkce(), { scope: SCOPES.join(' ') }));
  const cookie = await signedIn(gateway, query, (await newPerson(gateway)).email);
  const show = (): Promise<Client> =>
    Client.send(server.port, http(`GET /oauth/authorize?${query}`, [`Cookie: ${cookie}`, 'Connection: close']));
  expect((await show()).answers().map(({ status }) => status)).toEqual([200]);
  const unread = await holding('/large-of-nobody');
  lines.length = 0;
  expect((await show()).received).toMatch(/\r\nLocation: [^\r]*[?&]error=temporarily_unavailable&/i);
  expect(lines).toEqual([expect.objectContaining({ operation: 'oauth_authorize', code: 'temporarily_unavailable' })]);
  unread.socket.destroy();
  await expect.poll(() => server.held().unread).toBe(0);
  expect((await show()).answers().map(({ status }) => status)).toEqual([200]);
});

it('bytes that come behind an early answer and cannot be read get no answer of their own, and no line', async () => {
  for (const head of [
    ['POST /mcp', 'Transfer-Encoding: chunked'],
    ['POST /nothing', 'Transfer-Encoding: chunked'],
    ['POST /api/v1/visitors/vis_1_1_96/notes', 'Content-Type: text/plain', 'Transfer-Encoding: chunked'],
  ]) {
    const [line = '', ...fields] = head;
    lines.length = 0;
    const client = new Client(server.port);
    client.write(`${http(line, fields)}5\r\nhello\r\n`);
    await expect.poll(() => client.answers().length).toBe(1);
    client.write('ZZ\r\n');
    await Promise.race([client.closed, pause(1_000)]);
    client.socket.destroy();
    expect(client.answers(), line).toHaveLength(1);
    await pause(50);
    expect(lines.map(({ request_id }) => request_id)).toEqual(client.answers().map(({ id }) => id));
  }
});

it('bodies under way are bounded for a network, and given back', async () => {
  const half = http('POST /api/v1/visitors/vis_1_1_96/notes', [
    ...[bearer(caller.token), 'Content-Type: application/json', 'Idempotency-Key: half', 'Content-Length: 60000'],
  ]);
  const clients = Array.from({ length: 4 }, () => new Client(server.port));
  for (const client of clients) {
    client.write(half + 'x'.repeat(40 * KIB));
    await pause(50);
  }
  await expect
    .poll(() => clients.flatMap((client) => client.answers().map(({ status }) => status)))
    .toEqual([503, 503]);
  for (const client of clients) client.socket.destroy();
  await expect.poll(() => server.held().requests).toBe(0);
  const whole = note(caller.token, 'after the crowd');
  expect((await Client.send(server.port, whole, 500)).answers().map(({ status }) => status)).toEqual([200]);
  const stranger = new Client(server.port);
  stranger.write(http('POST /mcp', ['Authorization: Bearer nonsense', 'Content-Length: 60000']));
  await expect.poll(() => stranger.answers().map(({ status }) => status)).toEqual([401]);
  stranger.socket.destroy();
});

it('room is made by the caller who holds most, never by another', () => {
  const asked: string[] = [];
  const budget = new Budget({
    limits: { inAll: 100, share: 60 },
    code: 'answers_unread',
    makeRoom: (share) => {
      asked.push(share);
      budget.release(share, 30);
      return true;
    },
  });
  budget.hold('victim', 10);
  budget.hold('greedy', 30);
  budget.hold('greedy', 30);
  budget.hold('other', 30);
  expect(() => budget.hold('greedy', 30)).toThrow(/unread/);
  budget.hold('late', 20);
  expect(asked).toEqual(['greedy']);
  expect(budget.bytes).toBe(90);
});

itInFull(
  'a network that floods with tokens nobody knows holds up only itself: new tokens of others are known, and ready is ready',
  async () => {
    const served = await serve();
    const flood: Socket[] = [];
    let floods = true;
    for (let n = 0; n < 700; n++) {
      const socket = connect({ port: served.port, host: '127.0.0.1' });
      socket.on('error', () => undefined); // the gateway may cut this connection
      const again = (): void => {
        if (floods) socket.write(http('GET /api/v1/context', [bearer(newSecret('installation_test'))]));
      };
      socket.on('connect', again);
      socket.on('data', again);
      flood.push(socket);
    }
    await pause(1_500);
    const agent = new Agent({ localAddress: '127.0.0.2', maxSockets: 5 });
    const ask = (path: string, token: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}` };
        httpRequest({ host: '127.0.0.1', port: served.port, path, agent, headers }, (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode ?? 0));
        })
          .on('error', reject)
          .end();
      });
    const tokens = await Promise.all(Array.from({ length: 25 }, () => issue(served.database.sql, 1)));
    const statuses = await Promise.all(tokens.map(({ token }) => ask('/api/v1/context', token)));
    const ready = await Promise.all(Array.from({ length: 5 }, () => ask('/readyz', '')));
    floods = false;
    agent.destroy();
    for (const socket of flood) socket.destroy();
    await served.close();
    expect(statuses).toEqual(Array(25).fill(200));
    expect(ready).toEqual(Array(5).fill(200));
  },
);
