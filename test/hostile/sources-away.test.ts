import { afterAll, expect, test } from 'vitest';
import { chatwootGrants } from '../../src/sources/chatwoot/grants.ts';
import { createChatwoot, openChatwoot, populate } from '../support/chatwoot/populate.ts';
import { message, seed } from '../support/chatwoot/source-rows.ts';
import { closeClusters, openCluster } from '../support/cluster.ts';
import { times } from '../support/form.ts';
import { hostileBench } from '../support/hostile/sources.ts';
import { type AddedSource, addSource } from '../support/sources.ts';

/** What the people and the servers around a helpdesk can do to a source that is followed. */
const bench = hostileBench();
afterAll(closeClusters);

const fails = (source: AddedSource, why: string) =>
  expect
    .poll(async () => ((await source.state()).state === 'failing' ? (await source.state()).last_error : ''), {
      timeout: 20_000,
    })
    .toContain(why);
const follows = (source: AddedSource) => expect.poll(async () => (await source.state()).state).toBe('following');

test('while one Chatwoot is away, another source goes on, and the first catches up later', async () => {
  const sql = await bench.open();
  await seed(sql);
  const steady = await bench.followed();
  const server = await openCluster();
  await server.sql('postgres').unsafe('CREATE DATABASE chatwoot');
  const target = { host: '127.0.0.1', port: server.port, database: 'chatwoot', username: 'postgres' };
  const other = openChatwoot({ ...target, max: 1 });
  await createChatwoot(other);
  await seed(other);
  await other.unsafe(chatwootGrants({ role: 'reader', mode: 'live' })).simple();
  const address = `postgres://reader@127.0.0.1:${server.port}/chatwoot`;
  const lost = await addSource({ db: bench.db }, { address, mode: 'live', organization: 'away' });
  await follows(lost);
  await message(other, 4);
  await server.kill();
  await fails(lost, 'The database of the helpdesk cannot be reached');
  await message(sql, 5);
  const began = performance.now();
  await bench.shows(5);
  expect(performance.now() - began).toBeLessThan(5_000);
  expect((await steady.state()).state).toBe('following');
  await server.start();
  await message(other, 6);
  await follows(lost);
  await bench.shows(6);
  await bench.shows(4);
  await other.end({ timeout: 1 });
});

test.each(['live', 'poll'] as const)(
  'a role that loses a right makes a %s source fail, until the role has the right again',
  async (mode) => {
    const sql = await bench.open();
    await seed(sql);
    const source = await bench.followed(mode);
    const { role } = bench.desk;
    await sql.unsafe(`REVOKE ALL ON messages FROM ${role}`);
    await message(sql, 5, { created_at: new Date().toISOString(), updated_at: new Date().toISOString() });
    await fails(source, 'ON public.messages TO');
    await bench.desk.grant(mode);
    await follows(source);
    await bench.shows(5);
    await bench.equals(source);
  },
);

test('triggers that are dropped while a source is followed are noticed, and nothing is lost', async () => {
  const sql = await bench.open();
  await seed(sql);
  const source = await bench.followed('live', 1_000);
  await sql`DROP TRIGGER gateway_outbox_insert ON messages`;
  await message(sql, 5);
  await fails(source, 'messages.gateway_outbox_insert');
  expect(await bench.texts(5)).toEqual([]);
  await bench.desk.grant('live');
  await bench.shows(5);
  await follows(source);
  await message(sql, 6);
  await bench.shows(6);
});

test('an outbox that filled up while all gateways were away is read, and is empty again', async () => {
  const sql = await bench.open();
  const messages = times(4_000, 20_000);
  await populate(sql, { conversations: 1_000, messages, seed: 1 });
  const source = await bench.followed();
  const many = times(20_000, 1_000_000);
  // The gateway is away: another holder has the lease.
  await bench.store.sql`UPDATE gateway.source SET epoch = epoch + 1, lease_until = now() + interval '1 hour'`;
  await sql`UPDATE messages SET content = 'changed ' || id WHERE id % 3 = 0`;
  await sql`INSERT INTO gateway_outbox.change (kind, id, account_id)
    SELECT 'messages', m.id, m.account_id FROM generate_series(1, ${many}) n JOIN messages m ON m.id = 1 + n % ${messages}`;
  const began = performance.now();
  await bench.store.sql`UPDATE gateway.source SET lease_until = '-infinity'`;
  await bench.equals(source, 400_000);
  console.info(`an outbox of ${many} entries is read after ${Math.round(performance.now() - began)} ms`);
  const waiting = async () =>
    (await sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM gateway_outbox.change`)[0]?.n;
  await expect.poll(waiting, { timeout: 600_000, interval: 500 }).toBeLessThan(10);
  console.info(`the outbox is empty after ${Math.round(performance.now() - began)} ms`);
  expect(bench.errors).toEqual([]);
}, 1_200_000);
