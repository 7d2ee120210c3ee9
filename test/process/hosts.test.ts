import type { ServerResponse } from 'node:http';
import pino from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openHosts, SITES } from '../../src/process/hosts.ts';
import { startServer } from '../../src/surfaces/http/server.ts';
import { type Answer, exchange } from '../support/answer.ts';
import { gateway as cli, cliDatabase, refused } from '../support/cli.ts';
import { urlOf } from '../support/command.ts';
import { issue } from '../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { Browser, openTestProvider, type TestProvider } from '../support/oauth/identity-provider.ts';
import { freePort } from '../support/port.ts';
import { type Replica, startReplica } from '../support/replica.ts';
import { work } from '../support/surfaces/a2a.ts';
import { type OpenStream, openStream } from '../support/surfaces/a2a-stream.ts';

/** A real process, behind a proxy with TLS: its base URL is https, and the proxy passes on the host of the client. */
const BASE = 'https://cell1.example';
const HOST = 'acme.support.example';
let database: TestDatabase;
let replica: Replica;
let provider: TestProvider;
let port: number;

beforeAll(async () => {
  database = await cliDatabase('demo');
  expect((await cli('organization', 'update', 'larkspur', '--host', HOST)).code).toBe(0);
  port = await freePort();
  provider = await openTestProvider([`https://${HOST}/oauth/identity/callback`]);
  const env = {
    ...{ GATEWAY_BASE_URL: BASE, PORT: `${port}`, GATEWAY_OIDC_ISSUER: provider.issuer },
    ...{ GATEWAY_OIDC_CLIENT_ID: provider.clientId, GATEWAY_OIDC_CLIENT_SECRET: provider.clientSecret },
  };
  replica = await startReplica({ databaseUrl: urlOf(database), env });
});
afterAll(async () => {
  await replica.end();
  await provider.close();
  await database.close();
});

function ask(path: string, host: string, headers: object = {}, body?: object): Promise<Answer> {
  const text = body && JSON.stringify(body);
  return exchange(
    {
      ...{ port, path, method: text === undefined ? 'GET' : 'POST' },
      headers: {
        host,
        ...(text !== undefined && { 'content-type': 'application/json', 'content-length': String(text.length) }),
        ...headers,
      },
    },
    text,
  );
}

it('at the host of an organization, metadata, card and checks name this host, and tokens work', async () => {
  const { token } = await issue(database.sql, 1);
  const bearer = { authorization: `Bearer ${token}` };
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const mcp = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25', ...bearer };
  for (const [host, base] of [
    ['cell1.example', BASE],
    [HOST, `https://${HOST}`],
    ['Acme.Support.Example', `https://${HOST}`],
  ] as const) {
    const metadata = await ask('/.well-known/oauth-protected-resource/mcp', host);
    expect([metadata.body.resource, metadata.body.authorization_servers], host).toEqual([`${base}/mcp`, [base]]);
    const server = await ask('/.well-known/oauth-authorization-server', host);
    expect([server.body.issuer, server.body.token_endpoint], host).toEqual([base, `${base}/oauth/token`]);
    const card = await ask('/.well-known/agent-card.json', host);
    expect(card.text, host).toContain(`${base}/a2a`);
    const openapi = await ask('/api/v1/openapi.json', host);
    expect(openapi.body.servers[0].url, host).toBe(base);
    const refusal = await ask('/mcp', host, { accept: mcp.accept }, list);
    expect(refusal.headers['www-authenticate'], host).toContain(`${base}/.well-known/oauth-protected-resource/mcp`);
    expect((await ask('/api/v1/websites', host, bearer)).status, host).toBe(200);
    expect((await ask('/mcp', host, { ...mcp, origin: base }, list)).status, host).toBe(200);
    const foreign = base === BASE ? `https://${HOST}` : BASE;
    expect((await ask('/mcp', host, { ...mcp, origin: foreign }, list)).status, host).toBe(403);
  }
});

it('a person signs in with the identity provider at the host of the organization', async () => {
  const own = `https://${HOST}`;
  provider.account = { sub: 'ada', email: 'ada@example.com', email_verified: true };
  await database.sql`INSERT INTO gateway.person (id, tenant, email, role)
    VALUES (${`prs_${'a'.repeat(32)}`}, 1, 'ada@example.com', 'owner')`;
  const browser = new Browser(new Map([BASE, own].map((origin) => [origin, port])));
  const page = await browser.go(`${own}/console/identity?to=%2Fconsole%2Fpeople`);
  expect([page.status, page.url, page.text.includes('ada@example.com')]).toEqual([200, `${own}/console/people`, true]);
  expect([...browser.cookies(own).keys()]).toEqual(['__Host-igw_session']);
  expect(browser.cookies(BASE).size).toBe(0);
  // The provider knows only the redirect URI of the host, so it refuses the one of the base URL.
  const there = await browser.go(`${BASE}/console/identity?to=%2Fconsole%2Fpeople`);
  expect([there.status, new URL(there.url).origin]).toEqual([400, provider.origin]);
});

it('every document at the host of an organization is that of the base URL, with this host', async () => {
  const links = (text: string): string[] => [...text.matchAll(/href="(\/docs[^"#]*)"/g)].map(([, path = '']) => path);
  const start = (await ask('/docs', 'cell1.example')).text + (await ask('/docs/reference', 'cell1.example')).text;
  const paths = new Set([...links(start), '/api/v1/openapi.json', '/llms.txt', '/llms-full.txt', '/missing']);
  expect(paths.size).toBeGreaterThan(70);
  const named = new Set<string>();
  // The version of the scripts and styles is a digest of them, and one of them names the host. A text says how long
  // another one is.
  const own = (text: string): string =>
    text.replaceAll('cell1.example', HOST).replaceAll(/\?v=[0-9a-f]{12}|\(\d+ KiB\)/g, '');
  for (const path of paths) {
    const html = { accept: 'text/html' };
    const [base, at] = [await ask(path, 'cell1.example', html), await ask(path, HOST, html)];
    if (at.text.includes(HOST)) named.add(path);
    expect([at.status, own(at.text)], path).toEqual([base.status, own(base.text)]);
    if (!at.headers.etag) continue;
    if (named.has(path)) expect(at.headers.etag, path).not.toBe(base.headers.etag);
    expect((await ask(path, HOST, { 'if-none-match': at.headers.etag })).status, path).toBe(304);
  }
  for (const path of ['/docs', '/docs/clients', '/docs/errors', '/docs/reference/contact_get', '/llms-full.txt'])
    expect(named, path).toContain(path);
  const problem = await ask('/api/v1/nothing', HOST);
  expect(problem.body.type).toBe(`https://${HOST}/problems/not_found`);
});

it('an unknown host is no host of an organization', async () => {
  const { body } = await ask('/.well-known/oauth-authorization-server', 'other.example');
  expect(body.issuer).toBe(BASE);
  const card = await ask('/mcp', 'other.example', { origin: 'https://other.example' }, {});
  expect(card.status).toBe(403);
});

it('a host appears and disappears within seconds, belongs to one organization, and is a name', async () => {
  const issuer = async (host: string): Promise<unknown> =>
    (await ask('/.well-known/oauth-authorization-server', host)).body.issuer;
  await database.sql`INSERT INTO platform.organization (external_id, name) VALUES ('other', 'Other')`;
  expect(await cli('organization', 'update', 'other', '--host', HOST)).toEqual(refused(`has the host ${HOST}`));
  const both = ['--keep-messages-days', '30', '--host', HOST, '--yes'];
  expect(await cli('organization', 'update', 'other', ...both)).toEqual(refused('Nothing was changed'));
  const days = () =>
    database.sql`SELECT keep_messages_days AS n FROM platform.organization WHERE external_id = 'other'`;
  expect(await days()).toEqual([{ n: null }]);
  for (const wrong of ['https://x.example', 'x.example:443', 'localhost', '127.0.0.1', '-x.example', ''])
    expect((await cli('organization', 'update', 'other', '--host', wrong)).code, wrong).toBe(2);
  expect((await cli('organization', 'update', 'other', '--host', 'Late.Example')).stdout).toContain('late.example');
  expect((await cli('organization', 'list')).stdout).toContain('late.example');
  await expect.poll(() => issuer('late.example'), { timeout: 8_000 }).toBe('https://late.example');
  const kept = await cli('organization', 'update', 'other', '--keep-messages-days', '30', '--yes');
  expect([kept.stdout, await days()]).toEqual(['Other keeps texts and files for 30 days.\n', [{ n: 30 }]]);
  const none = await cli('organization', 'update', 'other', '--host', 'none');
  expect([none.stdout, await days()]).toEqual(['Other has no host.\n', [{ n: 30 }]]);
  await expect.poll(() => issuer('late.example'), { timeout: 8_000 }).toBe(BASE);
});

it('the bounds of streams count all hosts of the process', async () => {
  const { token } = await issue(database.sql, 1);
  const bearer = { authorization: `Bearer ${token}` };
  const contacts = await ask('/api/v1/contacts?website_id=web_1_1&limit=1', HOST, bearer);
  const lock = await database.sql.reserve();
  const open: OpenStream[] = [];
  try {
    // No task can end meanwhile.
    await lock`BEGIN`;
    await lock`LOCK TABLE platform.contact IN ACCESS EXCLUSIVE MODE`;
    const params = {
      ...work('contact_inspection', { contact_id: contacts.body.data.data[0].id }),
      configuration: { returnImmediately: true },
    };
    const a2a = { ...bearer, 'a2a-version': '1.0' };
    const sent = await ask('/a2a', HOST, a2a, { jsonrpc: '2.0', id: 1, method: 'SendMessage', params });
    const { id } = sent.body.result.task;
    const stream = (host: string): Promise<OpenStream> =>
      openStream(port, token, 'SubscribeToTask', { id }, { 'a2a-version': '1.0', host });
    for (let n = 0; n < 20; n++) open.push(await stream(n % 2 === 0 ? HOST : 'cell1.example'));
    expect(open.map(({ status }) => status)).toEqual(Array(20).fill(200));
    for (const host of [HOST, 'cell1.example']) {
      const refusal = await stream(host);
      await refusal.ended;
      expect([refusal.status, JSON.parse(refusal.text()).code], host).toEqual([429, 'stream_limit']);
    }
  } finally {
    await lock`ROLLBACK`;
    lock.release();
    for (const one of open) one.close();
  }
});

it('a process keeps the 500 sites that were asked last, and an older one ends its open requests', async () => {
  const many = await freshDatabase();
  await many.sql`INSERT INTO platform.organization (external_id, name, host)
    SELECT n, n, 'host-' || n || '.example' FROM generate_series(1, ${SITES + 1}) n`;
  const made: string[] = [];
  const stopping = new AbortController();
  const held: (() => void)[] = [];
  const server = await startServer({
    ...{ host: '127.0.0.1', port: 0, baseUrl: BASE, tls: undefined, log: pino({ level: 'silent' }) },
    ...{ handlers: [], otherwise: (_, response) => void response.end('no site') },
    siteOf: openHosts({
      ...{ db: many.db, baseUrl: BASE, stop: stopping.signal, onError: (error) => expect.fail(String(error)) },
      siteAt: (baseUrl) => {
        made.push(baseUrl);
        const answer = (response: ServerResponse): void => void response.end(baseUrl);
        return {
          handlers: [],
          otherwise: ({ url }, response) =>
            void (url === '/slow' ? held.push(() => answer(response)) : answer(response)),
        };
      },
    }),
  });
  const at = async (n: number, path = '/'): Promise<string> =>
    (await exchange({ port: server.port, path, headers: { host: `host-${n}.example` } })).text;
  const own = (n: number): string => `https://host-${n}.example`;
  await expect.poll(() => at(2), { timeout: 8_000 }).toBe(own(2));
  const open = at(2, '/slow');
  await expect.poll(() => held.length).toBe(1);
  for (let n = 1; n <= SITES; n++) expect(await at(n)).toBe(own(n));
  expect(await at(1)).toBe(own(1));
  expect(made).toHaveLength(SITES);
  // One more than it keeps. Of all, the second was asked longest ago.
  expect(await at(SITES + 1)).toBe(own(SITES + 1));
  expect(await at(1)).toBe(own(1));
  expect(made).toHaveLength(SITES + 1);
  held[0]?.();
  expect(await open).toBe(own(2));
  expect(await at(2)).toBe(own(2));
  expect(made).toHaveLength(SITES + 2);
  stopping.abort();
  await server.close();
  await many.close();
});

it('the host of the base URL is no host of an organization, and of two organizations one gets a host', async () => {
  process.env['GATEWAY_BASE_URL'] = BASE;
  const own = await cli('organization', 'update', 'other', '--host', 'Cell1.Example');
  delete process.env['GATEWAY_BASE_URL'];
  expect(own).toEqual(refused('cell1.example is the host of the base URL https://cell1.example'));
  const { sql } = database;
  const late = await sql.begin(async (first) => {
    await first`UPDATE platform.organization SET host = 'race.example' WHERE external_id = 'larkspur'`;
    const second = cli('organization', 'update', 'other', '--host', 'race.example');
    await expect
      .poll(() => sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
      .toHaveLength(1);
    return { second };
  });
  expect(await late.second).toEqual(refused('has the host race.example. Remove it there first.'));
});
