import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Turns } from '../../src/events/realtime/turns.ts';
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
async function left({ token }: Issued): Promise<number> {
  const { headers } = await gateway.ask('/api/v1/subscriptions', { token });
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

it('F-13 what waits for its quota is read after that: nothing is sent that a revocation has overtaken', async () => {
  for (let round = 0; round < 3; round++) {
    const own = await holder(gateway);
    const website = `web_1_${3 + round}`;
    const { id } = await create(gateway, own.token, definition([website]));
    const client = await connected(gateway, own.token);
    await client.attach(id);
    await pause(2_500); // what was leased of the quota has lapsed
    await sql().begin(async (tx) => {
      await tx`SELECT 1 FROM gateway.quota WHERE app_id = ${own.app} FOR UPDATE`;
      await append(sql(), website, many(3));
      await pause(300);
      await sql()`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${own.credential}`;
    });
    expect(await client.closed).toBe(4401);
    expect(client.frames.filter(({ type }) => type === 'page')).toEqual([]);
  }
}, 30_000);
