import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { type Example, examples, writer } from '../../support/surfaces/wire.ts';

/** If-None-Match on reads (RFC 9110, section 13.1.2). A 304 comes after the same proof as the answer that it spares. */
let gateway: TestGateway;
let token: string;
let credential: string;
let calls: Example[];

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token, credential } = await writer(gateway));
  calls = await examples(gateway);
});
afterAll(() => gateway.close());

const ask = (url: string, tag?: unknown, method = 'GET') =>
  gateway.ask(url, { token, method, headers: tag === undefined ? {} : { 'if-none-match': String(tag) } });

/** These contain the time, or words that are drawn for each answer. That of the context changes each second. */
const MOVING: readonly string[] = ['ai_conversation_summary', 'fetch', 'gateway_context', 'health'];

it('every read: an answer has the tag of its bytes, and the same bytes are 304 without a body', async () => {
  const [without, moving]: [string[], string[]] = [[], []];
  for (const { tool, url } of calls.filter((one) => one.tool.effect === 'read')) {
    const [first, second] = [await ask(url), await ask(url, '"other"')];
    const { etag } = first.headers;
    if (etag === undefined || tool.revision || tool.bytes) without.push(tool.name);
    else if (MOVING.includes(tool.name)) {
      moving.push(tool.name);
      expect((await ask(url, '*')).status, tool.name).toBe(304);
    } else {
      expect([second.status, second.headers['etag'], second.text], tool.name).toEqual([200, etag, first.text]);
      for (const method of ['GET', 'HEAD'])
        for (const sent of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
          const { status, text, headers } = await ask(url, sent, method);
          expect([status, text, headers['etag']], `${method} ${url} ${sent}`).toEqual([304, '', etag]);
          expect(headers['content-type']).toBeUndefined();
          expect(headers['cache-control']).toBe('no-store');
        }
    }
  }
  expect(moving.sort()).toEqual(MOVING);
  // The demo has no subscription to read.
  expect(without.sort()).toEqual(['events_pull', 'file_content', 'operation_get', 'subscription_get']);
});

it('a tag of an older answer gets the new one; a 304 costs quota; a tag proves no authority', async () => {
  const url = '/api/v1/visitors/vis_1_1_1/notes';
  const left = async (): Promise<number> => Number(/r=(\d+)/.exec(String((await ask(url)).headers['ratelimit']))?.[1]);
  const { etag } = (await ask(url)).headers;
  const cost = async (): Promise<number> => {
    const before = await left();
    expect((await ask(url, etag)).status).toBe(304);
    return before - (await left());
  };
  // The 304, and the request that tells. A lease that is renewed in between fills the quota again.
  await expect.poll(cost).toBe(2);
  const body = { text: 'A note that changes the answer.' };
  const written = await gateway.ask(url, { token, body, headers: { 'idempotency-key': 'changed' } });
  expect(written.status).toBe(200);
  const changed = await ask(url, etag);
  expect(changed.status).toBe(200);
  expect(changed.text).toContain(body.text);
  expect(changed.headers['etag']).not.toBe(etag);
  expect((await gateway.ask(url, { headers: { 'if-none-match': '*' } })).status).toBe(401);
  await gateway.database.sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${credential}`;
  expect((await ask(url, changed.headers['etag'])).status).toBe(401);
});
