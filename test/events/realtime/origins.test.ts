import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { holder, ORIGIN, plantWebsites } from '../../support/events/realtime.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { openBrowser } from '../../support/surfaces/browser.ts';

/** Tests who may call from a page of another origin: pages of registered origins, for realtime sessions only. */
const SESSIONS = '/api/v1/realtime/sessions';
const SESSION = `${SESSIONS}/rts_${'0'.repeat(32)}`;
const CORS = /^access-control-|^vary$/;

let gateway: TestGateway;
let browser: Browser;
let token: string;
const sites: ReturnType<typeof createServer>[] = [];

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await plantWebsites(gateway.database.sql, 1);
  browser = await openBrowser();
  ({ token } = await holder(gateway));
});
afterAll(async () => {
  await browser.close();
  for (const site of sites) site.close();
  await gateway.close();
});

const preflight = (path: string, origin: string, method = 'POST') =>
  gateway.ask(path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type',
    },
  });
const corsOf = ({ headers }: { readonly headers: object }): object =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => CORS.test(name)));

it('HT-07 the preflight of a registered origin is answered, for the calls that are bound to an origin', async () => {
  for (const [path, method] of [
    [SESSIONS, 'POST'],
    [`${SESSION}/tickets`, 'POST'],
    [SESSION, 'DELETE'],
  ] as const) {
    const answer = await preflight(path, ORIGIN, method);
    expect([answer.status, answer.text], path).toEqual([204, '']);
    expect(corsOf(answer), path).toEqual({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': method,
      'access-control-allow-headers': 'Authorization, Content-Type',
      'access-control-max-age': '600',
      vary: 'Origin',
    });
  }
});

it('HT-01 nobody else gets an answer to a preflight, and no other path gives one', async () => {
  for (const origin of ['https://evil.example', 'null', 'https://APP.example', `${ORIGIN}:443`, `${ORIGIN}/`, '']) {
    const answer = await preflight(SESSIONS, origin);
    expect([answer.status, corsOf(answer)], origin).toEqual([405, {}]);
  }
  for (const path of [`${SESSION}/socket`, '/api/v1/websites', '/api/v1/subscriptions']) {
    const answer = await preflight(path, ORIGIN);
    expect([answer.status, corsOf(answer)], path).toEqual([405, {}]);
  }
  const plain = await gateway.ask(SESSIONS, { method: 'OPTIONS', headers: { origin: ORIGIN } });
  expect(plain.status).toBe(405);
});

it('HT-01 a page of a registered origin may read each answer, also a refusal, and nothing of other operations', async () => {
  const SHOWN = {
    'access-control-allow-origin': ORIGIN,
    'access-control-expose-headers': 'RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
    vary: 'Origin',
  };
  const headers = { origin: ORIGIN };
  const made = await gateway.ask(SESSIONS, { token, body: {}, headers });
  expect([made.status, corsOf(made)]).toEqual([201, SHOWN]);
  const refused = await gateway.ask(SESSIONS, { body: {}, headers });
  expect([refused.status, corsOf(refused)]).toEqual([401, SHOWN]);
  const read = await gateway.ask('/api/v1/websites', { token, headers });
  expect([read.status, corsOf(read)]).toEqual([200, {}]);
  const foreign = await gateway.ask(SESSIONS, { token, body: {}, headers: { origin: 'https://evil.example' } });
  expect([foreign.status, corsOf(foreign)]).toEqual([404, {}]);
});

it('an origin is registered as long as a credential with it', async () => {
  const gone = 'https://gone.example';
  for (const end of ['revoked_at', 'expires_at'] as const) {
    const { credential } = await holder(gateway, { origins: [gone] });
    expect((await preflight(SESSIONS, gone)).status).toBe(204);
    const { sql } = gateway.database;
    await sql`UPDATE gateway.credential SET ${sql(end)} = now() WHERE id = ${credential}`;
    expect((await preflight(SESSIONS, gone)).status, end).toBe(405);
  }
});

/** Opens a page of another origin than the gateway's. */
async function openSite(): Promise<{ readonly page: Page; readonly origin: string }> {
  const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<title>app</title>'));
  sites.push(site);
  await new Promise<void>((done) => site.listen(0, '127.0.0.1', done));
  const { port } = site.address() as AddressInfo; // the address of a TCP server is an AddressInfo
  const page = await (await browser.newContext()).newPage();
  const origin = `http://127.0.0.1:${port}`;
  await page.goto(origin);
  return { page, origin };
}

/** Makes a session and opens its socket, as the script of a page does. */
const streamFrom = (page: Page, bearer: string) =>
  page.evaluate(
    async ([url, secret]) => {
      const answer = await fetch(`${url}/api/v1/realtime/sessions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: '{}',
      });
      const { session_id: id, ticket } = await answer.json();
      const address = `${url?.replace('http', 'ws')}/api/v1/realtime/sessions/${id}/socket`;
      const socket = new WebSocket(address, ['igw.realtime.v1', `ticket.${ticket}`]);
      const first = await new Promise<string>((done, fail) => {
        socket.onmessage = ({ data }) => done(String(data));
        socket.onerror = () => fail(new Error('the socket has failed'));
      });
      socket.close();
      return { status: answer.status, quota: answer.headers.get('ratelimit'), first: JSON.parse(first).type };
    },
    [`http://127.0.0.1:${gateway.port}`, bearer] as const,
  );

it('in a browser, a page of a registered origin makes a session and opens its socket, and another page cannot', async () => {
  const [app, other] = [await openSite(), await openSite()];
  const mine = await holder(gateway, { origins: [app.origin] });
  const quota = expect.stringMatching(/^"app";r=\d+/);
  expect(await streamFrom(app.page, mine.token)).toEqual({ status: 201, quota, first: 'ready' });
  await expect(streamFrom(other.page, mine.token)).rejects.toThrow('Failed to fetch');
});
