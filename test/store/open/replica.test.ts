import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Fragment, sql as fragment } from '../../../src/core/sql.ts';
import type { Corridor } from '../../../src/gateway/call.ts';
import { openGateway } from '../../../src/gateway/open.ts';
import { demoRecords } from '../../../src/sources/files/demo.ts';
import { importRecords } from '../../../src/sources/files/import.ts';
import { type Origin, passing, type Replica, type Standing } from '../../../src/store/driver/lineage.ts';
import { type Database, openDatabase } from '../../../src/store/driver/postgres.ts';
import { openStore, type Store } from '../../../src/store/open/open.ts';
import { openReplica } from '../../../src/store/open/replica.ts';
import { type Cluster, closeClusters, openCluster } from '../../support/cluster.ts';
import { type Issued, issue } from '../../support/credentials.ts';
import { until } from '../../support/events/webhooks.ts';
import { LONG } from '../../support/form.ts';
import { KEYS } from '../../support/keys.ts';
import { openProxy, type WireProxy } from '../../support/pgwire.ts';
import { DEMO_NOW } from '../../support/postgres.ts';

/**
 * Tests with two real servers. The second server is a streaming replica of the first server. The gateway uses the
 * replica only for reports.
 */
let primary: Cluster;
let replica: Cluster;
let store: Store;
let target: { host: string; port: number };
let proxy: WireProxy;
let follower: Replica;
/** `reading` reads reports. `serving` is the database for all other calls. */
let serving: Database;
let reading: Replica['read'] = (statement) => follower.read(statement);
let said: string[] = [];
/**
 * The replica cannot be reached at the start. The first element of this list tells whether the replica counted as
 * current at that time. The other elements are the log lines until the replica is reached.
 */
const arrival: unknown[] = [];
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
  await importRecords(first.slow, demoRecords(new Date(DEMO_NOW)), {});
  await first.close();
  [caller, other] = await Promise.all([issue(sql, 1), issue(sql, 1)]);
  replica = await primary.replica();
  store = await open(replica.url('gateway'));
  // The store checks its replica only every 10 s, which is too slow for the other tests. The other tests use
  // `follower`, which checks the replica every 300 ms.
  await until(() => store.replica?.current() === true);
  target = { host: '127.0.0.1', port: 1 };
  proxy = await openProxy(target);
  follower = await openReplica({
    url: proxy.url('gateway'),
    primary: store.db,
    name: 'test',
    log: (line) => said.push(line),
    lag: 2_500,
    every: 300,
    rest: 500,
  });
  await until(() => said.length > 0);
  arrival.push(follower.current());
  target.port = replica.port;
  await usable();
  arrival.push(...said);
  serving = store.db;
  const moving: Database = {
    ...store.db,
    query: (statement) => serving.query(statement),
    read: (statement) => serving.read(statement),
  };
  corridor = await openGateway({
    store: { ...store, db: moving, slow: moving, replica: { ...follower, read: (statement) => reading(statement) } },
    keys: KEYS,
    checkEvery: 1,
    onDefect: (_, error) => expect.fail(String(error)),
  });
});
afterAll(async () => {
  try {
    await follower.close();
    await proxy.close();
    await store.close();
  } finally {
    await closeClusters();
  }
});

const DAY = { range: 'date', start: '2026-11-01', end: '2026-11-15', timezone: 'UTC' };

interface Told {
  readonly data: {
    readonly headline: { readonly ai_conversations: number };
    readonly meta: { readonly generated_at: string; readonly end: string };
  };
}

async function ask(token: string, more: Readonly<Record<string, unknown>> = {}) {
  const tool = corridor.registry.get('ai_conversation_summary') ?? expect.fail('no report');
  const input = { website_id: 'web_1_1', ...DAY, ...more };
  const outcome = await corridor.call({ tool, resource: 'rest', bearer: token, input });
  if ('failure' in outcome) return outcome.failure.code;
  return (('body' in outcome ? outcome.body : undefined) as Told).data;
}

async function report(token: string, more: Readonly<Record<string, unknown>> = {}) {
  const data = await ask(token, more);
  return typeof data === 'string' ? data : data.headline.ai_conversations;
}

const hold = (): Promise<unknown> => replica.sql('gateway')`SELECT pg_wal_replay_pause()`;
const release = (): Promise<unknown> => replica.sql('gateway')`SELECT pg_wal_replay_resume()`;
const usable = (): Promise<void> => until(() => follower.current(), 10_000);
/**
 * Deletes conversations on the primary, so that the reports of primary and replica differ. Returns the number of
 * conversations that are left.
 */
async function shrink(): Promise<number> {
  await sql`DELETE FROM platform.conversation WHERE (tenant, site, id) IN (
    SELECT tenant, site, id FROM platform.conversation c WHERE tenant = 1 AND site = 1 AND ai_involved
       AND created_at >= '2026-11-01' AND created_at < '2026-11-15' LIMIT 1)`;
  const [row] = await sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM platform.conversation
    WHERE tenant = 1 AND site = 1 AND ai_involved AND created_at >= '2026-11-01' AND created_at < '2026-11-16'`;
  return row?.n ?? 0;
}

/** Makes the proxy connect to the server at this port. Also moves the open connections to this server. */
async function lead(port: number): Promise<void> {
  const before = target.port;
  target.port = port;
  if (before === 1) return;
  await postgresAt(
    before,
  )`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test-replica'`;
}
const postgresAt = (port: number): postgres.Sql => (port === primary.port ? primary : replica).sql('postgres');

it('one that was away at the start is used when it comes, and each change is told once', () => {
  expect(arrival).toEqual([
    false,
    expect.stringMatching(/^reports are read from the primary: the replica does not answer \([A-Z_]+\)$/),
    'reports are read from the replica',
  ]);
});

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
  // The credential gets a restriction, then loses a scope, and then ends. The replica has not received any of these
  // changes.
  await sql`UPDATE gateway.credential SET channel_ids = '{999}' WHERE id = ${other.credential}`;
  expect(await report(other.token)).toBe(0);
  await sql`UPDATE gateway.credential SET scopes = '{website_read}' WHERE id = ${other.credential}`;
  expect(await report(other.token)).toBe('not_permitted');
  await sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${other.credential}`;
  expect(await report(other.token)).toBe('token_revoked');
  // The replica does not have this new credential yet. The caller still gets the report, because the primary has the
  // credential.
  const fresh = await issue(sql, 1);
  expect(await report(fresh.token)).toBeTypeOf('number');
  await release();
});

it('a zone that does not exist is refused there as on the primary', async () => {
  await usable();
  expect(await report(caller.token, { timezone: 'Mars/Olympus' })).toBe('invalid_parameter');
});

it('says when, by the primary’s clock, of what it holds', async () => {
  await usable();
  const before = Date.now();
  const [now] = await sql<{ now: Date }[]>`SELECT now() AS now`;
  const data = await ask(caller.token, { range: 'today', start: undefined, end: undefined });
  if (typeof data === 'string') return expect.fail(data);
  const lag = Number(now?.now) - Date.parse(data.meta.generated_at);
  // `generated_at` is the time of the last comparison between the replica and the primary, by the clock of the primary.
  // `generated_at` is not the time of the read.
  expect(lag).toBeGreaterThanOrEqual(0);
  expect(lag).toBeLessThan(2_500 + Date.now() - before);
  expect(data.meta.end).toBe(data.meta.generated_at.slice(0, 10));
});

it('a statement there proves the lineage and the position itself', async () => {
  await usable();
  const [own = expect.fail('no primary')] = await sql<{ lineage: string; position: string }[]>`
    SELECT (SELECT system_identifier FROM pg_control_system()) || ' gateway 00000001' AS lineage,
           pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint AS position`;
  const position = Number(own.position);
  const [cluster = '', database = '', timeline = ''] = own.lineage.split(' ');
  const at = async (url: string, mark: Parameters<typeof passing>[0]): Promise<boolean | null | undefined> => {
    const db = openDatabase({ target: url, connections: 1, statementTimeout: 2_000, name: 'asked' });
    const [row] = await db.query<{ ok: boolean | null }>(fragment`SELECT guard.ok FROM ${passing(mark)}`);
    await db.close();
    return row?.ok;
  };
  const there = replica.url('gateway');
  await until(async () => (await at(there, { lineage: own.lineage, position })) === true);
  for (const [url, lineage, reached] of [
    [there, own.lineage, position + 1_000_000],
    [there, `${BigInt(cluster) + 1n} ${database} ${timeline}`, position],
    [there, `${cluster} other ${timeline}`, position],
    [there, `${cluster} ${database} 00000002`, position],
    [replica.url('postgres'), own.lineage, position],
    [primary.url('gateway'), own.lineage, position],
  ] as const)
    expect(await at(url, { lineage, position: reached }), `${url} ${lineage}`).not.toBe(true);
});

async function served(work: () => Promise<void>): Promise<void> {
  serving = openDatabase({ target: replica.url('gateway'), connections: 2, statementTimeout: 2_000, name: 'served' });
  try {
    await work();
  } finally {
    await serving.close();
    serving = store.db;
  }
}

it('where DATABASE_URL comes to lead to a standby, also behind a pooler, no authority is proved and no report is made', async () => {
  await usable();
  const before = await report(caller.token);
  expect(before).toBeTypeOf('number');
  // Only the guard of the statements refuses here, because this pool does not ask whether its server is a standby.
  await served(async () => expect(await report(caller.token)).toBe('service_unavailable'));
  expect(await report(caller.token)).toBe(before);
});

it('one that fails twice in a row is left alone for a while, and says so', async () => {
  await usable();
  const before = await report(caller.token);
  said = [];
  const cuts = proxy.arm({
    match: /ai_conversations/,
    at: 'before-execute',
    action: 'cut',
    times: Number.POSITIVE_INFINITY,
  });
  for (const current of [true, false, false]) {
    expect(await report(caller.token)).toBe(before);
    expect(follower.current()).toBe(current);
  }
  expect(cuts.hits()).toBe(2);
  await usable();
  // Three failures without a success between them count as a loss. Two failures have happened already.
  expect(await report(caller.token)).toBe(before);
  expect([follower.current(), cuts.hits()]).toEqual([false, 3]);
  proxy.disarm();
  await usable();
  expect(await report(caller.token)).toBe(before);
  expect(said.map((line) => line.replace(/ \([A-Z_]+\)/, ''))).toEqual([
    'the replica could not make a report: it is read from the primary',
    'reports are read from the primary: the replica failed twice in a row',
    'reports are read from the replica',
    'reports are read from the primary: the replica failed twice in a row',
    'reports are read from the replica',
  ]);
});

it('where its address leads to another server afterwards, nothing of that one is read', async () => {
  await usable();
  const before = await report(caller.token);
  said = [];
  await lead(primary.port);
  expect(await report(caller.token)).toBe(before);
  await until(() => !follower.current());
  await until(() => said.some((line) => line.endsWith('was promoted and follows no primary')));
  await lead(replica.port);
  await usable();
  expect(said.at(-1)).toBe('reports are read from the replica');
});

// These tests wait for several seconds, so only the long form runs them.
if (LONG) {
  it('one that falls silent under a report costs seconds, not the answer', async () => {
    await usable();
    const before = await report(caller.token);
    said = [];
    const resume = proxy.blackhole();
    const began = performance.now();
    expect(await report(caller.token)).toBe(before);
    const took = performance.now() - began;
    resume();
    console.info(`a report while the replica falls silent: ${took.toFixed(0)} ms`);
    expect(took).toBeLessThan(3_000);
    expect(said[0]).toBe('reports are read from the primary: the replica does not answer (ETIMEDOUT)');
    await usable();
  });

  it('one whose replay holds a lock does neither', async () => {
    await usable();
    const before = await report(caller.token);
    const locker = primary.sql('gateway');
    await locker.begin(async (own) => {
      await own`LOCK TABLE platform.conversation IN ACCESS EXCLUSIVE MODE`;
      await own`SELECT pg_current_xact_id()`;
      // PostgreSQL has written the lock to its log. PostgreSQL sends this part of the log to the replica only with the
      // next commit, so commit something.
      await sql`CREATE TABLE IF NOT EXISTS public.flushed ()`;
      await until(async () => {
        const held = await replica.sql('gateway')`SELECT FROM pg_locks
        WHERE mode = 'AccessExclusiveLock' AND relation = 'platform.conversation'::regclass`;
        return held.length > 0;
      });
      await hold();
    });
    const began = performance.now();
    expect(await report(caller.token)).toBe(before);
    const took = performance.now() - began;
    await release();
    console.info(`a report while a lock is held there: ${took.toFixed(0)} ms`);
    expect(took).toBeLessThan(4_500);
    expect(took).toBeGreaterThan(500);
  });
}

it('a primary that is slow for a moment takes nothing from it', async () => {
  await usable();
  said = [];
  let asked = 0;
  const faulty = await openReplica({
    url: replica.url('gateway'),
    // To check the replica, the gateway also reads from the primary. Every third of these reads fails here.
    primary: {
      ...store.db,
      read: (statement) => (++asked % 3 === 0 ? Promise.reject(new Error()) : store.db.read(statement)),
    },
    name: 'slow',
    log: (line) => said.push(line),
    every: 20,
  });
  await until(() => asked > 30);
  expect(said).toEqual(['reports are read from the replica']);
  await faulty.close();
});

it('falls back to the primary while it is too far behind, or away, and goes there again after', async () => {
  await usable();
  await hold();
  const left = await shrink();
  await until(() => !follower.current());
  expect(await report(caller.token)).toBe(left);
  await release();
  await usable();
  await replica.kill();
  // At this moment the gateway may not know yet that the replica is gone. The report must succeed anyway.
  expect(await report(caller.token)).toBe(left);
  await until(() => !follower.current());
  expect(await report(caller.token)).toBe(left);
  await replica.start();
  await usable();
  expect(await report(caller.token)).toBe(left);
});

it('is refused where its address leads elsewhere; one that is away at the start is not', async () => {
  const elsewhere = /^DATABASE_REPLICA_URL must lead to a streaming replica of the server of DATABASE_URL/;
  await expect(open(replica.url('postgres'))).rejects.toThrow(elsewhere);
  await expect(open(`${replica.url('gateway')}?statement_timeout=0`)).rejects.toThrow(
    /^DATABASE_REPLICA_URL must not set statement_timeout, /,
  );
  await expect(open(replica.url('none'))).rejects.toThrow(/^DATABASE_REPLICA_URL cannot be reached/);
  await expect(open(primary.url('gateway'), replica.url('gateway'))).rejects.toThrow(
    /^DATABASE_URL leads to a replica/,
  );
  await expect(
    openStore({
      databaseUrl: primary.url('gateway'),
      directUrl: replica.url('gateway'),
      dataDir: '/nowhere',
      connections: 1,
      log: () => undefined,
    }),
  ).rejects.toThrow(/^DATABASE_DIRECT_URL leads to a replica/);
  const taking = await open(primary.url('gateway'));
  expect(taking.replica?.current()).toBe(false);
  await taking.close();
  const away = await open('postgres://127.0.0.1:1/gateway');
  expect(away.replica?.current()).toBe(false);
  await away.close();
  // A replica that reports its position only after three seconds must not delay the start of the gateway. PostgreSQL
  // ends the statement after one second.
  await sql`CREATE FUNCTION public.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT pg_sleep(3) IS NULL'`;
  await until(async () => {
    const [there] = await replica.sql('gateway')`SELECT to_regproc('public.pg_is_in_recovery') IS NOT NULL AS made`;
    return there?.['made'] === true;
  });
  const slow = await open(`${replica.url('gateway')}?search_path=public,pg_catalog`);
  expect(slow.replica?.current()).toBe(false);
  await slow.close();
});

it('one that was promoted is not used, nor what follows it, however far ahead', async () => {
  await usable();
  said = [];
  await replica.sql('gateway')`SELECT pg_promote()`;
  await until(() => !follower.current());
  await until(() => said.some((line) => line.endsWith('was promoted and follows no primary')));
  const promoted = await open(replica.url('gateway'));
  expect(promoted.replica?.current()).toBe(false);
  await promoted.close();
  await replica.sql('gateway')`CREATE TABLE public.diverged AS SELECT generate_series(1, 10000)`;
  // The replica has data that only the former primary can confirm. The promoted server cannot confirm this data, so the
  // report must come from the former primary.
  const before = Number(await report(caller.token));
  expect(await shrink()).toBe(before - 1);
  reading = async <Row extends object>(statement: (standing: Standing) => Fragment) => {
    const standing = { guard: fragment`(SELECT true AS ok) guard`, now: fragment`now()` };
    const [row] = await store.db.query<Row & Origin>(fragment`
      SELECT (SELECT system_identifier FROM pg_control_system()) || ' gateway 00000001' AS lineage, 1 AS replayed, ${statement(standing)}`);
    return row;
  };
  await served(async () => expect(await report(caller.token)).toBe(before));
  expect(await report(caller.token)).toBe(before - 1);
  const other = await replica.replica();
  const lines: string[] = [];
  const astray = await openReplica({
    url: other.url('gateway'),
    primary: store.db,
    name: 'astray',
    log: (line) => lines.push(line),
    every: 100,
  });
  await until(() => lines.length > 0);
  await pause(500);
  expect(astray.current()).toBe(false);
  expect(lines).toEqual(['reports are read from the primary: the replica follows another server than DATABASE_URL']);
  await astray.close();
});
