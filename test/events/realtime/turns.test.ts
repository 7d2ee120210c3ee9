import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAuthorities } from '../../../src/auth/authority.ts';
import { digestOf, newSecret } from '../../../src/auth/tokens.ts';
import { compile, type Fragment } from '../../../src/core/sql.ts';
import { Pages } from '../../../src/events/realtime/pages.ts';
import { openLedgerKey } from '../../../src/store/calls/ledger.ts';
import type { Database } from '../../../src/store/driver/postgres.ts';
import type { Issued } from '../../support/credentials.ts';
import { Client, connected, holder, openSession, plantWebsites } from '../../support/events/realtime.ts';
import { append, create, definition } from '../../support/events/subscriptions.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS } from '../../support/keys.ts';

let gateway: TestGateway;
beforeAll(async () => {
  // These sockets have no periodic check of their authority. Only the proof of authority that comes with each page can
  // close a socket.
  gateway = await openTestGateway('empty', undefined, undefined, { check: 60_000 });
  await plantWebsites(gateway.database.sql, 10);
});
afterAll(() => gateway.close());

const sql = (): postgres.Sql => gateway.database.sql;
const many = (n: number, type = 'visitor.changed'): string[] => Array.from({ length: n }, () => type);

/** Returns the units that were in the app's bucket before this request. The request itself costs one unit. */
async function left({ token }: Issued, at = gateway): Promise<number> {
  const { headers } = await at.ask('/api/v1/subscriptions', { token });
  const [, units] = /r=(\d+)/.exec(String(headers.ratelimit)) ?? expect.fail('no RateLimit');
  return Number(units) + 1;
}

describe('the quota', () => {
  it('an attach costs a unit, and one that is refused, too; what finds nothing costs nothing', async () => {
    const own = await holder(gateway, { perMinute: 1, burst: 1_000 });
    const { id } = await create(gateway, own.token, definition(['web_1_1'], { event_types: ['privacy.*'] }));
    const client = await connected(gateway, own.token);
    const before = await left(own);
    await client.attach(id);
    client.send({ type: 'attach', id: 2, subscription_id: `sub_${'0'.repeat(32)}` });
    expect((await client.next('error')).code).toBe('not_found');
    for (let i = 0; i < 10; i++) await append(sql(), 'web_1_1', many(3));
    await pause(300);
    expect(before - 1 - (await left(own))).toBe(2);
    client.end();
  });

  it('what passes over a backlog costs a unit for each hundred; where they run out it waits and goes on', async () => {
    const own = await holder(gateway, { perMinute: 60, burst: 16 });
    const { id } = await create(gateway, own.token, definition(['web_1_2'], { event_types: ['privacy.*'] }));
    await append(sql(), 'web_1_2', many(1_500));
    await append(sql(), 'web_1_2', ['privacy.changed']);
    const quick = await openTestGateway('empty', gateway.database, undefined, { check: 50 });
    const client = await connected(quick, own.token);
    const began = performance.now();
    await client.attach(id);
    const page = await client.next('page', 15_000);
    expect(page.events.map((one: { cursor: number }) => one.cursor)).toEqual([1_501]);
    // The app gets one unit each second. The bucket was not empty, so the client must wait for some of the units but
    // not for all of them.
    expect(performance.now() - began).toBeGreaterThan(1_500);
    client.end();
    await quick.realtime.stop();
  });
});

describe('sockets that stream the same page', () => {
  let own: TestGateway;
  let pulls = 0;
  beforeAll(async () => {
    const note = (statement: Fragment): Fragment => {
      if (/s\.present/.test(compile(statement).text)) pulls++;
      return statement;
    };
    const { database } = gateway;
    const db: Database = {
      ...database.db,
      query: (statement) => database.db.query(note(statement)),
      read: (statement) => database.db.read(note(statement)),
    };
    own = await openTestGateway('empty', { ...database, db, close: async () => undefined }, undefined, {
      check: 60_000,
    });
  });
  afterAll(() => own.close());
  /**
   * Appends one change for all clients. Returns the pages of the clients, and the number of statements that the gateway
   * needed to read them.
   */
  async function told(clients: readonly Client[], website: string): Promise<{ pages: string[]; statements: number }> {
    await pause(200);
    pulls = 0;
    await append(sql(), website, many(3));
    const pages = await Promise.all(clients.map((client) => client.next('page')));
    return { pages: pages.map((page) => JSON.stringify(page)), statements: pulls };
  }

  it('are given it by one statement, and each pays', async () => {
    const rich = await holder(gateway, { perMinute: 1, burst: 1_000 });
    const { id } = await create(gateway, rich.token, definition(['web_1_7']));
    const clients = await Promise.all(Array.from({ length: 20 }, () => connected(own, rich.token)));
    for (const client of clients) await client.attach(id);
    await pause(300); // wait until the page reads that found nothing have given their units back
    const before = await left(rich, own);
    const { pages, statements } = await told(clients, 'web_1_7');
    expect(new Set(pages).size).toBe(1);
    expect(statements).toBe(1);
    expect(before - 1 - (await left(rich, own))).toBe(20);
    for (const client of clients) client.end();
  });

  it('under another token, or with fewer websites, are given it by their own', async () => {
    const one = await holder(gateway);
    const token = newSecret('installation_test');
    await sql()`INSERT INTO gateway.token (digest, credential_id, kind) VALUES (${digestOf(token)}, ${one.credential}, 'installation')`;
    const { id } = await create(gateway, one.token, definition(['web_1_9']));
    const narrow = new Client(own.port, await openSession(own, one.token, { website_ids: ['web_1_9'] }));
    await narrow.next('ready');
    const clients = [
      await connected(own, one.token),
      await connected(own, one.token),
      await connected(own, token),
      narrow,
    ];
    for (const client of clients) await client.attach(id);
    const { pages, statements } = await told(clients, 'web_1_9');
    expect(new Set(pages).size).toBe(1);
    expect(statements).toBe(3);
    for (const client of clients) client.end();
  });

  it('under an authority that has changed are given it under the new one, and pay once', async () => {
    const one = await holder(gateway, { perMinute: 1, burst: 1_000 });
    const { id } = await create(gateway, one.token, definition(['web_1_10']));
    const clients = await Promise.all(Array.from({ length: 5 }, () => connected(own, one.token)));
    for (const client of clients) await client.attach(id);
    await pause(300);
    const before = await left(one, own);
    await sql()`UPDATE gateway.credential SET callbacks = array_append(callbacks, 'https://changed.example/') WHERE id = ${one.credential}`;
    const { pages } = await told(clients, 'web_1_10');
    expect(new Set(pages).size).toBe(1);
    expect(before - 1 - (await left(one, own))).toBe(5);
    for (const client of clients) client.end();
  });

  it('one that is dropped, because nobody wants it, takes nobody with it who comes in that moment', async () => {
    const { db } = gateway.database;
    const pages = new Pages({
      db,
      keys: KEYS,
      eventKey: openLedgerKey(db),
      charge: async () => 1,
      refund: () => undefined,
      authority: async () => undefined,
      every: 60_000,
      onError: () => undefined,
    });
    const { authority } = await openAuthorities(db).resolve((await holder(gateway)).token, 'rest', undefined);
    const page = { subscription: `sub_${'0'.repeat(32)}`, after: 'none' };
    let joined: Promise<unknown> | undefined;
    // Four reads run, and a fifth read waits. At the turn of the fifth read, its caller does not want the page any
    // more. At the same moment, another caller asks for this page.
    const before = Array.from({ length: 4 }, (_, i) => pages.read(authority, { ...page, after: `${i}` }, () => true));
    const dropped = pages.read(authority, page, () => {
      joined ??= Promise.resolve().then(() => pages.read(authority, page, () => true));
      return false;
    });
    const results = await Promise.allSettled([...before, dropped]);
    expect(results.map((one) => one.status === 'rejected' && one.reason.code)).toEqual([
      ...Array(4).fill('invalid_cursor'),
      'service_unavailable',
    ]);
    await expect(joined).rejects.toMatchObject({ code: 'invalid_cursor' });
  });

  it('where the quota is enough for some of them, those are', async () => {
    const poor = await holder(gateway, { perMinute: 1, burst: 60 });
    const { id } = await create(gateway, poor.token, definition(['web_1_8']));
    const clients = await Promise.all(Array.from({ length: 8 }, () => connected(gateway, poor.token)));
    for (const client of clients) await client.attach(id);
    while ((await left(poor)) > 4) await gateway.ask('/api/v1/subscriptions', { token: poor.token });
    const units = (await left(poor)) - 1;
    await append(sql(), 'web_1_8', many(1));
    const told = await Promise.allSettled(clients.map((client) => client.next('page')));
    expect(told.filter(({ status }) => status === 'fulfilled')).toHaveLength(units);
    expect(clients.flatMap(({ frames }) => frames.filter(({ code }) => code === 'quota_exceeded'))).toHaveLength(
      8 - units,
    );
    for (const client of clients) client.end();
  });
});

it('F-13 what waits for its quota is read after that: nothing is sent that a revocation has overtaken', async () => {
  for (let round = 0; round < 3; round++) {
    const own = await holder(gateway);
    const website = `web_1_${3 + round}`;
    const { id } = await create(gateway, own.token, definition([website]));
    // Both sockets belong to one credential and one subscription, so a single read serves both. After the revocation,
    // no socket may get the page.
    const clients = [await connected(gateway, own.token), await connected(gateway, own.token)];
    for (const client of clients) await client.attach(id);
    await pause(2_500); // after this time, the gateway has no leased units left
    await sql().begin(async (tx) => {
      await tx`SELECT 1 FROM gateway.quota WHERE app_id = ${own.app} FOR UPDATE`;
      await append(sql(), website, many(3));
      await pause(300);
      await sql()`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${own.credential}`;
    });
    for (const client of clients) {
      expect(await client.closed).toBe(4401);
      expect(client.frames.filter(({ type }) => type === 'page')).toEqual([]);
    }
  }
});
