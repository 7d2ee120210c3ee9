import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from '../../src/core/sql.ts';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import { StoreUnreachable } from '../../src/store/driver/errors.ts';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';
import { type EmbeddedStore, openEmbedded } from '../../src/store/embedded/embedded.ts';
import { migrate, migrations } from '../../src/store/open/migrate.ts';
import { doctor } from '../support/doctor.ts';
import { ended } from '../support/faults/writes.ts';
import { itOnce as it, times } from '../support/form.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { DEMO_NOW } from '../support/postgres.ts';
import { scratch } from '../support/scratch.ts';

/**
 * The database driver has open bugs (docs/decisions/store.md). No bug may end the process, commit half of a write, or
 * damage statements after a reconnect. The tests kill connections and the whole server under load, so this file has its
 * own server.
 */
const dataDir = scratch('faults');
let store: EmbeddedStore;
let db: Database;
let gateway: TestGateway;
let token: string;

const target = () => ({ host: store.host, port: store.port, database: 'gateway', username: 'postgres' });
const admin = () => postgres({ ...target(), max: 1, onnotice: () => undefined, backoff: () => 0.1 });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const postmaster = () => Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);

beforeAll(async () => {
  store = await openEmbedded({ dataDir, log: () => undefined });
  db = openDatabase({ target: target(), connections: 4, statementTimeout: 5_000, name: 'victim' });
  await migrate(db);
  await importRecords(db, demoRecords(new Date(DEMO_NOW)), {});
  await db.script('CREATE TABLE public.effect (key integer, part text); CREATE TABLE public.mark (key integer)');
  const direct = admin();
  const database = {
    name: 'gateway',
    host: store.host,
    port: store.port,
    db,
    sql: direct,
    close: async () => undefined,
  };
  gateway = await openTestGateway('demo', database);
  ({ token } = await gateway.issue());
  await direct.end();
});

afterAll(async () => {
  expect(await doctor({ name: 'gateway', ...target() })).toEqual([]);
  await gateway.close();
  await db.close();
  await store.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const write = (key: number) =>
  db.query(sql`WITH first AS (INSERT INTO public.effect (key, part) VALUES (${key}, 'a') RETURNING key),
    second AS (INSERT INTO public.effect (key, part) SELECT key, 'b' FROM first RETURNING key)
    INSERT INTO public.mark (key) SELECT key FROM second RETURNING key`);

/** So many writes and so many reads must succeed while a fault repeats. */
const ENOUGH = 51;

interface Ledger {
  readonly acknowledged: number[];
  reads: number;
  unreachable: number;
  readonly others: unknown[];
  slowest: number;
}

/** Waits until another read and another write have succeeded. A slow machine would complete no call between two faults. */
type Progress = () => Promise<void>;

async function under(harm: (progress: Progress) => Promise<void>, firstKey: number): Promise<Ledger> {
  const ledger: Ledger = { acknowledged: [], reads: 0, unreachable: 0, others: [], slowest: 0 };
  let done = false;
  let next = firstKey;
  const caller = async (writes: boolean): Promise<void> => {
    while (!done) {
      const key = next++;
      const began = performance.now();
      try {
        if (writes) {
          await write(key);
          ledger.acknowledged.push(key);
        } else {
          const [row] = await db.read<{ n: number }>(sql`SELECT ${key}::int AS n`);
          if (row?.n !== key) ledger.others.push(`asked ${key}, got ${row?.n}`);
          ledger.reads++;
        }
      } catch (error) {
        if (error instanceof StoreUnreachable) ledger.unreachable++;
        else ledger.others.push(error);
        await pause(20);
      }
      ledger.slowest = Math.max(ledger.slowest, performance.now() - began);
    }
  };
  const callers = Array.from({ length: 8 }, (_, i) => caller(i % 2 === 0));
  const until = async (writes: number, reads: number): Promise<void> => {
    while (ledger.acknowledged.length < writes || ledger.reads < reads) await pause(5);
  };
  try {
    await harm(() => until(ledger.acknowledged.length + 1, ledger.reads + 1));
    await until(ENOUGH, ENOUGH);
  } finally {
    done = true;
    await Promise.all(callers);
  }
  return ledger;
}

async function judge(ledger: Ledger): Promise<void> {
  expect(ledger.others).toEqual([]);
  expect(ledger.slowest).toBeLessThan(10_000);
  const direct = admin();
  const halves = await direct`SELECT key FROM public.effect GROUP BY key HAVING count(*) <> 2
    UNION ALL SELECT e.key FROM public.effect e LEFT JOIN public.mark m USING (key) WHERE m.key IS NULL`;
  expect([...halves]).toEqual([]);
  const [present] = await direct<{ n: string }[]>`
    SELECT count(DISTINCT key) AS n FROM public.mark WHERE key = ANY(${ledger.acknowledged})`;
  expect(Number(present?.n)).toBe(ledger.acknowledged.length);
  await direct.end();
}

describe('F-04 backends ended in the middle of statements', () => {
  it('leaves no half write, loses no acknowledged one, and the process lives', async () => {
    const ledger = await under(async (progress) => {
      const killer = admin();
      for (let i = 0; i < 60; i++) {
        await killer`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'`;
        await pause(25);
        await progress();
      }
      await killer.end();
    }, 1);
    await judge(ledger);
  });
});

async function upAgain(): Promise<void> {
  const direct = admin();
  for (;;) {
    try {
      await direct`SELECT 1`;
      break;
    } catch {
      await pause(20); // PostgreSQL is not up yet
    }
  }
  await direct.end();
}

describe('F-05 the server crashes and comes back', () => {
  test('is used again without a restart of ours; nothing acknowledged is lost', async () => {
    const recoveries: number[] = [];
    const ledger = await under(async () => {
      for (let i = 0; i < times(5, 5, 3); i++) {
        await pause(300);
        const pid = postmaster();
        process.kill(pid, 'SIGQUIT');
        await ended(pid);
        await upAgain();
        const up = performance.now();
        for (;;) {
          const answer = await gateway.ask('/api/v1/websites', { token });
          if (answer.status === 200) break;
          expect(answer.status).toBe(503);
          expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
          await pause(20);
        }
        recoveries.push(performance.now() - up);
      }
    }, 1_000_000);
    expect(ledger.unreachable).toBeGreaterThan(0);
    expect(Math.max(...recoveries)).toBeLessThan(2_000);
    await judge(ledger);
  });

  it('answers only 200 or 503 with Retry-After while it is down', async () => {
    const statuses = new Map<number, number>();
    let done = false;
    const callers = Array.from({ length: 6 }, async () => {
      while (!done) {
        const { status, headers } = await gateway.ask('/api/v1/conversations?website_id=web_1_1&limit=5', { token });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === 503) expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
      }
    });
    await pause(200);
    process.kill(postmaster(), 'SIGQUIT');
    await pause(1_500);
    done = true;
    await Promise.all(callers);
    expect([...statuses.keys()].sort()).toEqual([200, 503]);
    await upAgain();
  });
});

describe('migrations', () => {
  it('run once when many processes start at the same time', async () => {
    const direct = admin();
    await direct`CREATE DATABASE crowd`;
    const pools = Array.from({ length: 6 }, (_, i) =>
      openDatabase({
        target: { ...target(), database: 'crowd' },
        connections: 1,
        statementTimeout: 30_000,
        name: `m${i}`,
      }),
    );
    const results = await Promise.all(pools.map((pool) => migrate(pool)));
    expect(new Set(results.map(({ version }) => version)).size).toBe(1);
    const applied = results.flatMap((result) => result.applied);
    expect(applied.sort()).toEqual((await migrations()).map(({ name }) => name));
    await Promise.all(pools.map((pool) => pool.close()));
    await direct.end();
  });

  it('wait for a process that makes the store for longer than a statement may take', async () => {
    const direct = admin();
    const holder = await direct.reserve();
    await holder`SELECT pg_advisory_lock(7310482)`;
    const waiting = openDatabase({ target: target(), connections: 1, statementTimeout: 300, name: 'waiting' });
    const done = migrate(waiting);
    await pause(1_000);
    await holder`SELECT pg_advisory_unlock(7310482)`;
    expect((await done).applied).toEqual([]);
    await waiting.close();
    holder.release();
    await direct.end();
  });

  it('refuse a store of a newer gateway', async () => {
    await db.query(sql`INSERT INTO public.gateway_migration (version, name) VALUES (9999, '9999_future.sql')`);
    await expect(migrate(db)).rejects.toThrow(/schema version 9999/);
    await db.query(sql`DELETE FROM public.gateway_migration WHERE version = 9999`);
  });
});
