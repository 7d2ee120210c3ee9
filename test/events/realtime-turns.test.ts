import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compile, type Fragment } from '../../src/core/sql.ts';
import { Turns } from '../../src/events/realtime/turns.ts';
import type { Database } from '../../src/store/postgres.ts';
import type { Issued } from '../support/credentials.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { connected, holder, plantWebsites } from './realtime.support.ts';
import { append, create, definition } from './subscriptions.support.ts';

let gateway: TestGateway;
beforeAll(async () => {
  // Only what a page itself proves closes a socket here.
  gateway = await openTestGateway('empty', undefined, undefined, { check: 60_000 });
  await plantWebsites(gateway.database.sql, 10);
});
afterAll(() => gateway.close());

const sql = (): postgres.Sql => gateway.database.sql;
const many = (n: number, type = 'visitor.changed'): string[] => Array.from({ length: n }, () => type);

/** Units that are left in the app's bucket, but for the one that asking costs. */
async function left({ token }: Issued, at = gateway): Promise<number> {
  const { headers } = await at.ask('/api/v1/subscriptions', { token });
  const [, units] = /r=(\d+)/.exec(String(headers.ratelimit)) ?? expect.fail('no RateLimit');
  return Number(units) + 1;
}

describe('turns', () => {
  it('go round the credentials, however much one of them has, a few at a time', async () => {
    const turns = new Turns(2);
    const done: string[] = [];
    let [now, most] = [0, 0];
    const work = (name: string) => async (): Promise<void> => {
      most = Math.max(most, ++now);
      await pause(2);
      now--;
      done.push(name);
    };
    const all = Array.from({ length: 100 }, () => turns.take('greedy', () => true, work('greedy')));
    await pause(5);
    const before = done.length;
    all.push(...['one', 'two', 'one'].map((name) => turns.take(name, () => true, work(name))));
    await Promise.all(all);
    expect(most).toBe(2);
    expect(done).toHaveLength(103);
    // At most what is under way comes before, and at most as much between.
    expect(done.indexOf('one') - before).toBeLessThanOrEqual(5);
    expect(done.indexOf('two') - before).toBeLessThanOrEqual(6);
    expect(done.lastIndexOf('one') - before).toBeLessThanOrEqual(10);
  });

  it('pass over what nobody wants any more, and survive what fails', async () => {
    const turns = new Turns(1);
    let wanted = true;
    let ran = 0;
    const first = turns.take(
      'a',
      () => wanted,
      () => pause(20).then(() => Promise.reject(new Error('failed'))),
    );
    const dropped = Array.from({ length: 50 }, () =>
      turns.take(
        'a',
        () => wanted,
        async () => void ran++,
      ),
    );
    const last = turns.take(
      'a',
      () => true,
      async () => 'done',
    );
    wanted = false;
    const results = await Promise.allSettled([first, ...dropped]);
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect(await last).toBe('done');
    expect(ran).toBe(0);
  });
});

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
    // Some units were there and one a second comes.
    expect(performance.now() - began).toBeGreaterThan(1_500);
    client.end();
    await quick.realtime.stop();
  }, 20_000);
});

describe('sockets that stream the same page', () => {
  it('are given it by one statement, and each pays', async () => {
    let pulls = 0;
    const note = (statement: Fragment): Fragment => {
      if (/s\.present/.test(compile(statement).text)) pulls++;
      return statement;
    };
    const watched = (db: Database): Database => ({
      ...db,
      query: (statement) => db.query(note(statement)),
      read: (statement) => db.read(note(statement)),
    });
    const { database } = gateway;
    const own = await openTestGateway(
      'empty',
      { ...database, db: watched(database.db), close: async () => undefined },
      undefined,
      { check: 60_000 },
    );
    const rich = await holder(gateway, { perMinute: 1, burst: 1_000 });
    const { id } = await create(gateway, rich.token, definition(['web_1_7']));
    const clients = await Promise.all(Array.from({ length: 20 }, () => connected(own, rich.token)));
    for (const client of clients) await client.attach(id);
    await pause(200);
    const before = await left(rich, own);
    pulls = 0;
    await append(sql(), 'web_1_7', many(3));
    const pages = await Promise.all(clients.map((client) => client.next('page')));
    expect(new Set(pages.map((page) => JSON.stringify(page))).size).toBe(1);
    // The journal may be looked at twice while the page is on its way, and who looked again finds nothing.
    expect(pulls).toBeLessThanOrEqual(3);
    expect(before - 1 - (await left(rich, own))).toBe(20);
    for (const client of clients) client.end();
    await own.close();
  });

  it('where the quota is enough for some of them, those are', async () => {
    const poor = await holder(gateway, { perMinute: 1, burst: 60 });
    const { id } = await create(gateway, poor.token, definition(['web_1_8']));
    const clients = await Promise.all(Array.from({ length: 8 }, () => connected(gateway, poor.token)));
    for (const client of clients) await client.attach(id);
    while ((await left(poor)) > 4) await gateway.ask('/api/v1/subscriptions', { token: poor.token });
    const units = (await left(poor)) - 1;
    await append(sql(), 'web_1_8', many(1));
    // Who is closed is given no page.
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
    // Two, which are given the page together.
    const clients = [await connected(gateway, own.token), await connected(gateway, own.token)];
    for (const client of clients) await client.attach(id);
    await pause(2_500); // what was leased of the quota has lapsed
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
}, 30_000);
