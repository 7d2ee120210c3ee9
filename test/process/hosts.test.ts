import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Answer, exchange } from '../support/answer.ts';
import { gateway as cli, cliDatabase, refused } from '../support/cli.ts';
import { urlOf } from '../support/command.ts';
import { issue } from '../support/credentials.ts';
import type { TestDatabase } from '../support/database.ts';
import { freePort } from '../support/port.ts';
import { type Replica, startReplica } from '../support/replica.ts';

/** A real process, behind a proxy with TLS: its base URL is https, and the proxy passes on the host of the client. */
const BASE = 'https://cell1.example';
const HOST = 'acme.support.example';
let database: TestDatabase;
let replica: Replica;
let port: number;

beforeAll(async () => {
  database = await cliDatabase('demo');
  expect((await cli('organization', 'update', 'larkspur', '--host', HOST)).code).toBe(0);
  port = await freePort();
  replica = await startReplica({ databaseUrl: urlOf(database), env: { GATEWAY_BASE_URL: BASE, PORT: `${port}` } });
});
afterAll(async () => {
  await replica.end();
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
  for (const wrong of ['https://x.example', 'x.example:443', 'localhost', '127.0.0.1', '-x.example', ''])
    expect((await cli('organization', 'update', 'other', '--host', wrong)).code, wrong).toBe(2);
  expect((await cli('organization', 'update', 'other', '--host', 'Late.Example')).stdout).toContain('late.example');
  expect((await cli('organization', 'list')).stdout).toContain('late.example');
  await expect.poll(() => issuer('late.example'), { timeout: 8_000 }).toBe('https://late.example');
  expect((await cli('organization', 'update', 'other', '--host', 'none')).code).toBe(0);
  await expect.poll(() => issuer('late.example'), { timeout: 8_000 }).toBe(BASE);
}, 30_000);
