import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Client,
  connected,
  type Frame,
  holder,
  newTicket,
  ORIGIN,
  openSession,
  plantWebsites,
} from '../../support/events/realtime.ts';
import { append, create, definition, pull } from '../../support/events/subscriptions.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';

let gateway: TestGateway;
let other: TestGateway;
let token: string;
let credential: string;

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  other = await openTestGateway('empty', gateway.database);
  await plantWebsites(gateway.database.sql, 120);
  ({ token, credential } = await holder(gateway));
});
afterAll(async () => {
  await other.realtime.stop();
  await gateway.close();
});

const sql = (): postgres.Sql => gateway.database.sql;
let used = 0;
const fresh = (): string => `web_1_${++used}`;
const many = (n: number, type = 'visitor.changed'): string[] => Array.from({ length: n }, () => type);
const told = ({ events }: Frame): number[] => events.map(({ cursor }: { cursor: number }) => cursor);

async function subscribed(by = token, more: Partial<ReturnType<typeof definition>> = {}) {
  const website = fresh();
  return { website, ...(await create(gateway, by, definition([website], more))) };
}

async function drain(client: Client, quiet = 400): Promise<Frame[]> {
  const pages: Frame[] = [];
  for (;;) {
    const page = await client.next('page', quiet).catch(() => undefined);
    if (!page) return pages;
    pages.push(page);
    client.ack(page);
    await client.next('acked');
  }
}

describe('a stream', () => {
  it('gives the pages that a pull gives, one at a time, each once its predecessor is acknowledged', async () => {
    const { website, id, cursor } = await subscribed();
    const client = await connected(gateway, token);
    expect(await client.attach(id)).toEqual({
      type: 'attached',
      id: 'a',
      subscription_id: id,
      revision: 1,
      after: cursor,
    });
    await append(sql(), website, many(250));
    const page = await client.next('page');
    const pulled = (await pull(gateway, token, id, cursor, 100)).body;
    // All these receipts come from one commit, so a read finds all of them or none. The socket and the pull must
    // therefore return equal pages.
    expect(page).toEqual({ type: 'page', ...pulled });
    await expect(client.next('page', 500)).rejects.toThrow('no page');
    client.ack(page);
    expect(await client.next('acked')).toEqual({ type: 'acked', subscription_id: id, cursor: page.next_cursor });
    const rest = await drain(client);
    expect(rest.map(({ events }) => events.length)).toEqual([100, 50]);
    expect([page, ...rest].flatMap(told)).toEqual(Array.from({ length: 250 }, (_, i) => i + 1));
    client.end();
  });

  it('tells of a change at once, and of what nobody asked for nothing', async () => {
    const { website, id } = await subscribed(token, { event_types: ['privacy.*'] });
    const client = await connected(gateway, token);
    await client.attach(id);
    await pause(200);
    await append(sql(), website, many(300, 'queue.changed'));
    await expect(client.next('page', 500)).rejects.toThrow();
    const began = performance.now();
    await append(sql(), website, ['privacy.removed']);
    const page = await client.next('page');
    expect(performance.now() - began).toBeLessThan(300);
    expect(page.events.map(({ event_type }: { event_type: string }) => event_type)).toEqual(['privacy.removed']);
    expect(told(page)).toEqual([301]);
    client.end();
  });

  it('twenty subscriptions side by side, the next one is refused, and a detached one is silent', async () => {
    const client = await connected(gateway, token);
    const { token: own } = await holder(gateway);
    const mine = await connected(gateway, own);
    const all = await Promise.all(Array.from({ length: 20 }, () => subscribed(own)));
    for (const { id } of all) await mine.attach(id);
    const [first, second] = all;
    const again = (id = '') => mine.send({ type: 'attach', id: 7, subscription_id: id });
    again(first?.id);
    expect(await mine.next('error')).toMatchObject({ id: 7, code: 'invalid_request', fatal: false });
    mine.send({ type: 'detach', subscription_id: first?.id ?? '' });
    await append(sql(), first?.website ?? '', many(1));
    await append(sql(), second?.website ?? '', many(1));
    expect((await mine.next('page')).subscription_id).toBe(second?.id);
    await expect(mine.next('page', 300)).rejects.toThrow();
    await mine.attach(first?.id ?? '');
    expect((await mine.next('page')).subscription_id).toBe(first?.id);
    client.send({ type: 'attach', id: 'x', subscription_id: first?.id });
    expect(await client.next('error')).toMatchObject({ id: 'x', code: 'not_found', fatal: false });
    mine.end();
    client.end();
  });

  it('only of the session’s websites', async () => {
    const { website, id } = await subscribed();
    const outside = await connected(gateway, token, { website_ids: [fresh()] });
    outside.send({ type: 'attach', id: 1, subscription_id: id });
    expect(await outside.next('error')).toMatchObject({ code: 'not_found' });
    const inside = await connected(gateway, token, { website_ids: [website] });
    await inside.attach(id);
    inside.end();
    outside.end();
  });

  it('refuses a cursor that is none, of another subscription, revision or trimmed history, and stays open', async () => {
    const { website, id, cursor } = await subscribed();
    const strange = await subscribed();
    const client = await connected(gateway, token);
    const refused = async (after: string): Promise<string> => {
      client.send({ type: 'attach', id: 1, subscription_id: id, after });
      return (await client.next('error')).code;
    };
    expect(await refused('x.y')).toBe('invalid_cursor');
    expect(await refused(strange.cursor)).toBe('invalid_cursor');
    await append(sql(), website, many(3));
    const [, tenant = '', site = ''] = website.split('_');
    await sql()`DELETE FROM gateway.journal WHERE tenant = ${tenant} AND site = ${site} AND position <= 2`;
    await sql()`UPDATE gateway.journal_head SET trimmed = 2 WHERE tenant = ${tenant} AND site = ${site}`;
    expect(await refused(cursor)).toBe('replay_expired');
    await sql()`UPDATE gateway.subscription SET revision = 2 WHERE id = ${id}`;
    expect(await refused(cursor)).toBe('revision_changed');
    expect(client.socket.readyState).toBe(client.socket.OPEN);
    client.end();
  });

  it('a held family pauses it, nothing is consumed, and it goes on when it is let go', async () => {
    const { website, id } = await subscribed(token, { event_types: ['visitor.*'] });
    const [, tenant = '', site = ''] = website.split('_');
    const client = await connected(gateway, token);
    await client.attach(id);
    await sql()`INSERT INTO gateway.family_hold (tenant, site, family) VALUES (${tenant}, ${site}, 'visitor')`;
    await append(sql(), website, many(2));
    expect(await client.next('paused')).toEqual({
      type: 'paused',
      subscription_id: id,
      code: 'event_family_paused',
      retry_after: 30,
    });
    await append(sql(), website, many(1));
    await expect(client.next('page', 500)).rejects.toThrow();
    expect(client.frames.filter(({ type }) => type === 'paused')).toHaveLength(1);
    await sql()`DELETE FROM gateway.family_hold WHERE tenant = ${tenant} AND site = ${site}`;
    const page = await client.next('page');
    expect(page.events).toHaveLength(3);
    client.end();
  });

  it('a page costs a unit, and where none is left the socket closes 4429', async () => {
    const { token: poor } = await holder(gateway, { perMinute: 60, burst: 6 });
    const { website, id } = await subscribed(poor);
    const client = await connected(gateway, poor);
    await client.attach(id);
    for (let i = 0; i < 12 && client.socket.readyState === client.socket.OPEN; i++) {
      await append(sql(), website, many(1));
      const page = await client.next('page', 1_000).catch(() => undefined);
      if (page) client.ack(page);
    }
    expect(await client.closed).toBe(4429);
    const pages = client.frames.filter(({ type }) => type === 'page').length;
    expect(pages).toBeGreaterThanOrEqual(3);
    expect(pages).toBeLessThanOrEqual(6);
    expect(client.frames.at(-2)).toMatchObject({ type: 'error', code: 'quota_exceeded', fatal: true });
  });
});

describe('WS-05', () => {
  it('an ack of another cursor closes 1008 and advances nothing; twice does no harm', async () => {
    const { website, id, cursor } = await subscribed();
    const strange = await subscribed();
    await append(sql(), website, many(150));
    const session = await openSession(gateway, token);
    let ticket = session.ticket;
    const future = (await pull(gateway, token, id, (await pull(gateway, token, id, cursor, 100)).body.next_cursor, 100))
      .body;
    const altered = future.next_cursor.replace(/.$/, (last: string) => (last === 'A' ? 'E' : 'A'));
    for (const wrong of [strange.cursor, future.next_cursor, altered, 'x']) {
      const client = new Client(gateway.port, { ...session, ticket });
      await client.next('ready');
      const { after } = await client.attach(id);
      expect(after).toBe(cursor);
      const page = await client.next('page');
      expect(told(page)[0]).toBe(1);
      client.send({ type: 'ack', subscription_id: id, cursor: wrong });
      expect(await client.closed, wrong).toBe(1008);
      ticket = await newTicket(gateway, token, session.session_id);
    }
    expect(await sql()`SELECT * FROM gateway.realtime_ack WHERE session_id = ${session.session_id}`).toHaveLength(0);
    const client = new Client(gateway.port, { ...session, ticket });
    await client.next('ready');
    await client.attach(id);
    const page = await client.next('page');
    client.ack(page);
    client.ack(page);
    client.ack(page);
    await client.next('acked');
    const second = await client.next('page');
    client.ack(page);
    expect((await client.next('acked')).cursor).toBe(page.next_cursor);
    client.ack(second);
    await client.next('acked');
    expect([...told(page), ...told(second)]).toEqual(Array.from({ length: 150 }, (_, i) => i + 1));
    expect(client.socket.readyState).toBe(client.socket.OPEN);
    client.send({ type: 'ack', subscription_id: strange.id, cursor: strange.cursor });
    expect(await client.next('error')).toMatchObject({ code: 'not_found', fatal: false });
    client.end();
  });

  it('no ack in time closes 4408, of one page only', async () => {
    const hasty = await openTestGateway('empty', gateway.database, undefined, { ack: 800, check: 100 });
    const { website, id } = await subscribed();
    const client = await connected(hasty, token);
    await client.attach(id);
    await append(sql(), website, many(250));
    const began = performance.now();
    expect(await client.closed).toBe(4408);
    expect(performance.now() - began).toBeGreaterThan(700);
    expect(client.frames.filter(({ type }) => type === 'page')).toHaveLength(1);
    await hasty.realtime.stop();
  });
});

describe('WS-07', () => {
  it('reconnects, on either gateway, go on behind the last ack: the union of pages is the journal', async () => {
    const { website, id } = await subscribed();
    const session = await openSession(gateway, token);
    const seen: number[] = [];
    let repeated = 0;
    let ticket = session.ticket;
    let writing = true;
    const writer = (async () => {
      for (let i = 0; i < 120; i++) {
        await append(sql(), website, many(1 + (i % 7)));
        await pause(10);
      }
      writing = false;
    })();
    for (let round = 0; writing || round < 20; round++) {
      const client = new Client((round % 2 === 0 ? gateway : other).port, { ...session, ticket });
      await client.next('ready');
      await client.attach(id);
      let last: number[] = [];
      for (let n = 0; n <= round % 4; n++) {
        const page = await client.next('page', 300).catch(() => undefined);
        if (!page) break;
        last = told(page);
        repeated += last.filter((one) => seen.includes(one)).length;
        seen.push(...last);
        if (n === round % 4) break; // this page stays unacknowledged, so it comes again
        client.ack(page);
        await client.next('acked');
      }
      client.end();
      ticket = await newTicket(gateway, token, session.session_id);
    }
    await writer;
    const client = new Client(gateway.port, { ...session, ticket });
    await client.next('ready');
    await client.attach(id);
    for (const page of await drain(client)) seen.push(...told(page));
    client.end();
    const [, tenant = '', site = ''] = website.split('_');
    const [{ head } = { head: 0 }] = await sql()<
      { head: number }[]
    >`SELECT position::integer AS head FROM gateway.journal_head WHERE tenant = ${tenant} AND site = ${site}`;
    expect(head).toBeGreaterThan(400);
    expect([...new Set(seen)].sort((a, b) => a - b)).toEqual(Array.from({ length: head }, (_, i) => i + 1));
    expect(repeated).toBeGreaterThan(0);
  });
});

it('WS-07 what a socket acknowledges after another took its place is not stored', async () => {
  const { website, id, cursor } = await subscribed();
  await append(sql(), website, many(3));
  const session = await openSession(gateway, token);
  const first = new Client(gateway.port, session);
  await first.next('ready');
  await first.attach(id);
  const page = await first.next('page');
  const second = new Client(other.port, { ...session, ticket: await newTicket(gateway, token, session.session_id) });
  await second.next('ready');
  first.ack(page);
  expect(await first.closed).toBe(1008);
  expect(first.frames.filter(({ type }) => type === 'acked')).toEqual([]);
  expect((await second.attach(id)).after).toBe(cursor);
  second.end();
});

describe('WS-08', () => {
  const within = async (client: Client): Promise<[number, number]> => {
    const began = performance.now();
    const code = await client.closed;
    return [code, performance.now() - began];
  };

  it('a session that is deleted closes its socket on another gateway within two seconds, 1000', async () => {
    const session = await openSession(gateway, token);
    const client = new Client(other.port, session);
    await client.next('ready');
    await gateway.ask(`/api/v1/realtime/sessions/${session.session_id}`, {
      token,
      method: 'DELETE',
      headers: { origin: ORIGIN },
    });
    const [code, took] = await within(client);
    expect(code).toBe(1000);
    expect(took).toBeLessThan(2_000);
  });

  it.each([
    ['revoked', (id: string) => sql()`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${id}`],
    ['expired', (id: string) => sql()`UPDATE gateway.credential SET expires_at = now() WHERE id = ${id}`],
    [
      'without its token',
      (id: string) => sql()`UPDATE gateway.token SET revoked_at = now() WHERE credential_id = ${id}`,
    ],
    [
      'without event_read',
      (id: string) => sql()`UPDATE gateway.credential SET scopes = array_remove(scopes, 'event_read') WHERE id = ${id}`,
    ],
    ['restricted', (id: string) => sql()`UPDATE gateway.credential SET team_ids = '{}' WHERE id = ${id}`],
    ['without the website', (id: string) => sql()`UPDATE gateway.credential SET sites = sites[2:] WHERE id = ${id}`],
    ['without the origin', (id: string) => sql()`UPDATE gateway.credential SET origins = '{}' WHERE id = ${id}`],
    ['gone', (id: string) => sql()`DELETE FROM gateway.credential WHERE id = ${id}`],
  ])('a credential that is %s closes it within two seconds, 4401', async (_, change) => {
    const own = await holder(gateway);
    const client = await connected(gateway, own.token);
    await change(own.credential);
    const [code, took] = await within(client);
    expect(code).toBe(4401);
    expect(took).toBeLessThan(2_000);
  });

  it('a change that takes nothing away keeps it open, and it streams on', async () => {
    const own = await holder(gateway, { scopes: ['website_read', 'event_read', 'contact_read'] });
    const { website, id } = await subscribed(own.token);
    const client = await connected(gateway, own.token);
    await client.attach(id);
    await sql()`UPDATE gateway.credential SET scopes = '{website_read,event_read}' WHERE id = ${own.credential}`;
    await append(sql(), website, many(1));
    await client.next('page');
    await pause(1_500);
    expect(client.socket.readyState).toBe(client.socket.OPEN);
    client.end();
  });

  it('the end of the session closes it 4404', async () => {
    const session = await openSession(gateway, token);
    const client = new Client(gateway.port, session);
    await client.next('ready');
    await sql()`UPDATE gateway.realtime_session SET expires_at = now() WHERE id = ${session.session_id}`;
    expect((await within(client))[0]).toBe(4404);
  });

  it('a subscription that is replaced closes it 4409, one that is deleted 4404, with the next event', async () => {
    for (const [method, code] of [
      ['PATCH', 4409],
      ['DELETE', 4404],
    ] as const) {
      const { website, id, cursor } = await subscribed();
      const client = await connected(gateway, token);
      await client.attach(id);
      const answer = await gateway.ask(`/api/v1/subscriptions/${id}`, {
        token,
        method,
        headers: { 'if-match': '1' },
        ...(method === 'PATCH' && { body: definition([website]) }),
      });
      expect(answer.status).toBeLessThan(300);
      await append(sql(), website, many(1));
      expect((await within(client))[0]).toBe(code);
      expect(client.frames.filter(({ type }) => type === 'page')).toHaveLength(0);
      const late = await connected(gateway, token);
      late.send({ type: 'attach', id: 1, subscription_id: id, after: cursor });
      expect((await late.next('error')).code).toBe(method === 'PATCH' ? 'revision_changed' : 'not_found');
      late.end();
    }
  });

  it('F-13 nothing that was recorded after the revocation is ever sent, 40 rounds at random moments', async () => {
    let late = 0;
    let sent = 0;
    let after = 0;
    for (let round = 0; round < 40; round++) {
      const own = await holder(gateway);
      const website = `web_1_${100 + (round % 20)}`;
      const { id } = await create(gateway, own.token, definition([website], { start: 'retained' }));
      const client = await connected(gateway, own.token);
      await client.attach(id);
      const acking = (async () => {
        for (;;) client.ack(await client.next('page', 2_500));
      })().catch(() => undefined);
      let writes = true;
      const writing = (async () => {
        while (writes) await append(sql(), website, ['privacy.changed']);
      })();
      await pause(20 + ((round * 7) % 60));
      const [{ at } = { at: 0 }] = await sql()<{ at: number }[]>`
        WITH gone AS (UPDATE gateway.credential SET revoked_at = now() WHERE id = ${own.credential} RETURNING 1)
        SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at FROM gone`;
      await pause(150);
      writes = false;
      await writing;
      expect(await client.closed).toBe(4401);
      await acking;
      const [, tenant = '', site = ''] = website.split('_');
      const [{ n } = { n: 0 }] = await sql()<{ n: number }[]>`
        SELECT count(*)::integer AS n FROM gateway.journal
         WHERE tenant = ${tenant} AND site = ${site} AND recorded_at > to_timestamp(${at + 50} / 1000.0)`;
      after += n;
      for (const { type, events } of client.frames) {
        if (type !== 'page') continue;
        for (const { recorded_at } of events) {
          sent++;
          if (recorded_at > at + 50) late++;
        }
      }
    }
    expect(sent).toBeGreaterThan(100);
    expect(after).toBeGreaterThan(100);
    expect(late).toBe(0);
  });
});

it('the credential of these tests is still whole', async () => {
  const rows = await sql()`SELECT 1 FROM gateway.credential WHERE id = ${credential} AND revoked_at IS NULL`;
  expect(rows).toHaveLength(1);
});
