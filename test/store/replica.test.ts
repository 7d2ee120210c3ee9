import type postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Corridor } from '../../src/gateway/call.ts';
import { openGateway } from '../../src/gateway/open.ts';
import { demoRecords } from '../../src/import/demo/index.ts';
import { importRecords } from '../../src/import/import.ts';
import { openStore, type Store } from '../../src/store/open.ts';
import { openReplica, type Replica } from '../../src/store/replica.ts';
import { until } from '../events/webhooks.support.ts';
import { type Cluster, closeClusters, openCluster } from '../support/cluster.ts';
import { type Issued, issue } from '../support/credentials.ts';
import { KEYS } from '../support/keys.ts';
import { DEMO_NOW } from '../support/postgres.ts';

/** Two real servers, the second a streaming replica of the first: reports are read there, and nothing else is. */
let primary: Cluster;
let replica: Cluster;
let store: Store;
let follower: Replica;
let corridor: Corridor;
let sql: postgres.Sql;
let caller: Issued;
let other: Issued;

const open = (replicaUrl: string, databaseUrl = primary.url('gateway')): Promise<Store> =>
  openStore({ databaseUrl, replicaUrl, dataDir: '/nowhere', connections: 2, log: () => undefined });

beforeAll(async () => {
  primary = await openCluster();
  await primary.sql('postgres').unsafe('CREATE DATABASE gateway');
  sql = primary.sql('gateway');
  const first = await openStore({
    databaseUrl: primary.url('gateway'),
    dataDir: '/nowhere',
    connections: 2,
    log: () => undefined,
  });
  await importRecords(first.slow, demoRecords({ seed: 1, now: new Date(DEMO_NOW) }), {});
  await first.close();
  [caller, other] = await Promise.all([issue(sql, 1), issue(sql, 1)]);
  replica = await primary.replica();
  store = await open(replica.url('gateway'));
  // It began and is used: that is all the test needs of the store's own, whose 10 s are long.
  await until(() => store.replica?.current() !== undefined);
  follower = await openReplica({
    url: replica.url('gateway'),
    primary: store.db,
    statementTimeout: 5_000,
    name: 'test',
    log: () => undefined,
    lag: 2_500,
  });
  corridor = await openGateway({
    store: { ...store, replica: follower },
    keys: KEYS,
    checkEvery: 1,
    onDefect: (_, error) => expect.fail(String(error)),
  });
}, 60_000);
afterAll(async () => {
  try {
    await follower.close();
    await store.close();
  } finally {
    await closeClusters();
  }
});

const DAY = { range: 'date', start: '2026-11-01', end: '2026-11-15', timezone: 'UTC' };

async function report(token: string, more: Readonly<Record<string, unknown>> = {}) {
  const tool = corridor.registry.get('ai_conversation_summary') ?? expect.fail('no report');
  const input = { website_id: 'web_1_1', ...DAY, ...more };
  const outcome = await corridor.call({ tool, resource: 'rest', bearer: token, input });
  if ('failure' in outcome) return outcome.failure.code;
  // Its shape is the tool's own test's affair.
  const { data } = ('body' in outcome ? outcome.body : undefined) as {
    data: { headline: { ai_conversations: number } };
  };
  return data.headline.ai_conversations;
}

/** The replica stands still: what is committed from now on does not reach it. */
const hold = (): Promise<unknown> => replica.sql('gateway')`SELECT pg_wal_replay_pause()`;
const release = (): Promise<unknown> => replica.sql('gateway')`SELECT pg_wal_replay_resume()`;
const usable = (): Promise<void> => until(() => follower.current() !== undefined, 10_000);
/** Takes what a report counts from the primary, so that the two differ; returns how many are left. */
async function shrink(): Promise<number> {
  await sql`DELETE FROM platform.conversation WHERE (tenant, site, id) IN (
    SELECT tenant, site, id FROM platform.conversation c WHERE tenant = 1 AND site = 1 AND ai_involved
       AND created_at >= '2026-11-01' AND created_at < '2026-11-15' LIMIT 1)`;
  const [row] = await sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM platform.conversation
    WHERE tenant = 1 AND site = 1 AND ai_involved AND created_at >= '2026-11-01' AND created_at < '2026-11-16'`;
  return row?.n ?? 0;
}

it('reads reports there, from rows that lag, and everything else from the primary', async () => {
  await usable();
  const before = await report(caller.token);
  await hold();
  const left = await shrink();
  expect(left).toBe(Number(before) - 1);
  expect(await report(caller.token)).toBe(before);
  const tool = corridor.registry.get('conversations_list') ?? expect.fail('no list');
  const list = await corridor.call({ tool, resource: 'rest', bearer: caller.token, input: { website_id: 'web_1_1' } });
  expect('body' in list).toBe(true);
  await release();
  await until(async () => (await report(caller.token)) === left);
});

it('gives nothing that the credential does not grant now, whatever the replica still knows', async () => {
  await usable();
  expect(await report(other.token)).toBeTypeOf('number');
  await hold();
  // A restriction, a scope, an end: the replica has heard of none of them.
  await sql`UPDATE gateway.credential SET channel_ids = '{999}' WHERE id = ${other.credential}`;
  expect(await report(other.token)).toBe(0);
  await sql`UPDATE gateway.credential SET scopes = '{website_read}' WHERE id = ${other.credential}`;
  expect(await report(other.token)).toBe('not_permitted');
  await sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${other.credential}`;
  expect(await report(other.token)).toBe('token_revoked');
  // Nor of a credential that is new, which the primary vouches for.
  const fresh = await issue(sql, 1);
  expect(await report(fresh.token)).toBeTypeOf('number');
  await release();
});

it('a zone that does not exist is refused there as on the primary', async () => {
  await usable();
  expect(await report(caller.token, { timezone: 'Mars/Olympus' })).toBe('invalid_parameter');
});

it('falls back to the primary while it is too far behind, or away, and goes there again after', async () => {
  await usable();
  await hold();
  const left = await shrink();
  await until(() => follower.current() === undefined);
  expect(await report(caller.token)).toBe(left);
  await release();
  await usable();
  await replica.kill();
  // Whoever comes before that was noticed is not refused either.
  expect(await report(caller.token)).toBe(left);
  await until(() => follower.current() === undefined);
  expect(await report(caller.token)).toBe(left);
  await replica.start();
  await usable();
  expect(await report(caller.token)).toBe(left);
}, 60_000);

it('is refused where its address leads elsewhere; one that is away at the start is not', async () => {
  const elsewhere = /^DATABASE_REPLICA_URL must lead to a streaming replica of the server of DATABASE_URL/;
  await expect(open(primary.url('gateway'))).rejects.toThrow(elsewhere);
  await expect(open(replica.url('postgres'))).rejects.toThrow(elsewhere);
  await expect(open(replica.url('none'))).rejects.toThrow(/^DATABASE_REPLICA_URL cannot be reached/);
  await expect(open(primary.url('gateway'), replica.url('gateway'))).rejects.toThrow(
    /^DATABASE_URL leads to a replica/,
  );
  const away = await open('postgres://127.0.0.1:1/gateway');
  expect(away.replica?.current()).toBeUndefined();
  await away.close();
});
