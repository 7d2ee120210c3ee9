import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { asLists, type Fragment, raw, runFor, sql, unshared, type Value } from '../../../src/core/sql.ts';
import { StoreUnreachable, sqlState } from '../../../src/store/driver/errors.ts';
import { type Database, openDatabase } from '../../../src/store/driver/postgres.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { times } from '../../support/form.ts';

/** Reads of one app that come together or wait for a connection share one statement: src/store/driver/shared-reads.ts. */
let database: TestDatabase;
const opened: Database[] = [];
beforeAll(async () => {
  database = await freshDatabase();
  await database.sql`CREATE TABLE allowed (digest bytea PRIMARY KEY)`;
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((db) => db.close()));
  await database.sql`TRUNCATE allowed`;
});
afterAll(() => database.close());

/** With a pool of one connection, an app holds the connection, and each further read waits. */
function open(options: { connections?: number; direct?: string; statementTimeout?: number } = {}): Database {
  const { host, port, name } = database;
  const { connections = 1, statementTimeout = 5_000, ...rest } = options;
  const target = { host, port, database: name, username: 'postgres' };
  const db = openDatabase({ target, connections, statementTimeout, name: 'batches-under-test', ...rest });
  opened.push(db);
  return db;
}

const APP = 'app_1';
interface Answer {
  readonly n: number;
  /** The start of the statement and its process: the same for all reads of a batch. */
  readonly at: string;
}
const AT = raw(`statement_timestamp() || ' ' || pg_backend_pid() AS at`);
const ask = (n: number): Fragment => sql`SELECT ${n}::int AS n, ${AT}`;
/** Keeps the connection of an app for so many seconds. */
const hold = (db: Database, seconds: number, app = APP) => db.read(runFor(app, sql`SELECT pg_sleep(${seconds})`));

/** Runs a read alone until it was fast, because a statement that was slow is not shared. */
async function learn(db: Database, read: Fragment, app = APP): Promise<void> {
  await eventually(async () => {
    const began = performance.now();
    await db.read(runFor(app, read));
    expect(performance.now() - began).toBeLessThan(20);
  });
}

/** Runs the first read alone, and then all of them while the connection of the app is held. */
async function together<Row extends object>(db: Database, reads: readonly Fragment[], seconds = 0.05) {
  const [first] = reads;
  if (first) await learn(db, first);
  const held = hold(db, seconds);
  const results = Promise.allSettled(reads.map((one) => db.read<Row>(runFor(APP, one))));
  await held;
  return results;
}
const rowsOf = <T>(result: PromiseSettledResult<T>): T =>
  result.status === 'fulfilled' ? result.value : expect.fail(String(result.reason));
const statementsOf = (results: readonly PromiseSettledResult<Answer[]>[]): number =>
  new Set(results.map((one) => rowsOf(one)[0]?.at)).size;

it('reads that wait share statements, eight in each, and each has its own rows', async () => {
  const results = await together<Answer>(
    open(),
    Array.from({ length: 20 }, (_, n) => ask(n)),
  );
  expect(results.map((one) => rowsOf(one).map(({ n }) => n))).toEqual(Array.from({ length: 20 }, (_, n) => [n]));
  expect(statementsOf(results)).toBe(3);
});

it('reads whose rows are lists share a statement, but not with reads whose rows are objects', async () => {
  const db = open();
  const reads = Array.from({ length: 8 }, (_, n) => runFor(APP, ask(n)));
  await learn(db, ask(0));
  const held = hold(db, 0.05);
  const lists = reads.map((one) => db.read<readonly unknown[]>(asLists(one)));
  const objects = reads.map((one) => db.read<Answer>(one));
  await held;
  const listed = (await Promise.all(lists)).flat();
  const named = (await Promise.all(objects)).flat();
  const [at] = listed.map(([, at]) => at);
  expect(listed).toEqual(reads.map((_, n) => [n, at]));
  expect(named.map(({ n }) => n)).toEqual(reads.map((_, n) => n));
  expect(new Set(named.map((one) => one.at)).size).toBe(1);
  expect(named[0]?.at).not.toBe(at);
});

it('reads of one turn of the event loop share a statement, also when connections are free', async () => {
  const db = open({ connections: 8 });
  await learn(db, ask(0));
  const later = async (n: number) => {
    for (let step = 0; step < n * 10; step++) await undefined; // as after the reply of a batch, all in one turn
    return db.read<Answer>(runFor(APP, ask(n)));
  };
  const results = await Promise.allSettled([1, 2, 3, 4].map(later));
  expect(results.map((one) => rowsOf(one).map(({ n }) => n))).toEqual([[1], [2], [3], [4]]);
  expect(statementsOf(results)).toBe(1);
});

it('a read that comes alone runs alone, and so does a read whose statement is not known yet', async () => {
  const db = open();
  for (const n of [1, 2]) expect(Object.keys((await db.read(runFor(APP, ask(n))))[0] ?? {})).toEqual(['n', 'at']);
  const held = hold(db, 0.05);
  const other = (n: number) => sql`SELECT ${n}::int AS n, ${AT}, 'other' AS other`;
  const results = await Promise.allSettled([1, 2, 3].map((n) => db.read<Answer>(runFor(APP, other(n)))));
  expect(statementsOf(results)).toBe(3);
  await held;
});

it('reads that PostgreSQL must plan for their values share nothing, while others of the same turn do', async () => {
  const db = open({ connections: 8 });
  await learn(db, ask(0));
  const reads = [ask(0), ask(1), ask(2), ask(3)].map((one) => runFor(APP, one));
  const results = await Promise.allSettled(reads.map((one, n) => db.read<Answer>(n < 2 ? one : unshared(one))));
  expect(results.map((one) => rowsOf(one).map(({ n }) => n))).toEqual([[0], [1], [2], [3]]);
  expect(statementsOf(results)).toBe(3);
});

it('reads of two apps, writes, and statements of the gateway itself share nothing', async () => {
  const db = open({ connections: 2 });
  for (const app of [APP, 'app_2']) await learn(db, ask(0), app);
  const held = [hold(db, 0.05), hold(db, 0.05, 'app_2')];
  const results = await Promise.allSettled([
    ...[APP, 'app_2'].map((app) => db.read<Answer>(runFor(app, ask(1)))),
    db.read<Answer>(ask(2)),
    ...[3, 4].map((n) => db.query<Answer>(runFor(APP, ask(n)))),
  ]);
  expect(statementsOf(results)).toBe(5);
  await Promise.all(held);
});

it('every row proves its own authority, at the time when the statement starts', async () => {
  const db = open();
  const digests = Array.from({ length: 10 }, (_, n) => Buffer.alloc(32, n));
  for (const digest of digests) await database.sql`INSERT INTO allowed VALUES (${digest})`;
  const proved = (digest: Uint8Array): Fragment =>
    sql`SELECT guard.ok, d.n FROM (SELECT EXISTS (SELECT FROM allowed a WHERE a.digest = ${digest}) AS ok OFFSET 0) guard
        LEFT JOIN LATERAL (SELECT n FROM generate_series(1, 3) AS n ORDER BY n DESC LIMIT 2) d ON guard.ok`;
  await learn(db, proved(digests[0] ?? expect.fail()));
  const held = hold(db, 0.1);
  const results = digests.map((digest) => db.read(runFor(APP, proved(digest))));
  // The reads have joined their batch. Those whose authority ends now must not get any data.
  for (const n of [0, 7, 9]) await database.sql`DELETE FROM allowed WHERE digest = ${Buffer.alloc(32, n)}`;
  const rows = await Promise.all(results);
  const told = rows.map((all) => all.map((row) => ({ ...row, '~n': undefined })));
  const [yes, no] = [(n: number) => ({ ok: true, n }), { ok: false, n: null }];
  expect(told).toEqual(digests.map((_, n) => ([0, 7, 9].includes(n) ? [no] : [yes(3), yes(2)])));
  await held;
});

it('a wait that ends before its turn refuses its reads, and does not end sharing', async () => {
  const db = open({ statementTimeout: 500 }); // so a read waits for 500 ms
  await learn(db, ask(0));
  const held = [hold(db, 0.4), hold(db, 0.4)];
  const refused = await Promise.allSettled([1, 2].map((n) => db.read(runFor(APP, ask(n)))));
  expect(refused.map((one) => one.status)).toEqual(['rejected', 'rejected']);
  await Promise.allSettled(held); // on a busy machine, the statement's time-out can end one
  const again = hold(db, 0.05);
  const results = await Promise.allSettled([1, 2].map((n) => db.read<Answer>(runFor(APP, ask(n)))));
  expect(statementsOf(results)).toBe(1);
  await again;
});

it('an error of one read is its own error, and the statement is learned again', async () => {
  const db = open();
  const divide = (n: number) => sql`SELECT 8 / ${n}::int AS n, ${AT}`;
  const results = await together<Answer>(db, [divide(2), divide(0), divide(4), divide(8)]);
  expect(results.map((one) => (one.status === 'rejected' ? sqlState(one.reason) : one.value[0]?.n))).toEqual([
    4,
    '22012',
    2,
    1,
  ]);
  const again = await together<Answer>(db, [divide(2), divide(4), divide(8)]);
  expect(statementsOf(again)).toBe(1);
});

it('a batch whose connection is lost while it runs is sent again', async () => {
  const db = open();
  const killer = open();
  // Fast for 0, which runs alone.
  const slow = (n: number): Fragment =>
    sql`SELECT ${n}::int AS n, ${AT} FROM pg_sleep(CASE ${n}::int WHEN 0 THEN 0 ELSE 0.3 END)`;
  await learn(db, slow(0));
  const held = hold(db, 0.05);
  const waiting = Promise.allSettled([1, 2, 3].map((n) => db.read<Answer>(runFor(APP, slow(n)))));
  await held;
  const lost = sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'batches-under-test' AND state = 'active' AND query LIKE 'SELECT one.*, batch.n%'`;
  await expect.poll(async () => (await killer.query(lost)).length, { interval: 10 }).toBe(1);
  expect((await waiting).map((one) => rowsOf(one)[0]?.n)).toEqual([1, 2, 3]);
});

it('an app has at most 128 waiting reads for each connection, and another app has its turn between them', async () => {
  const db = open();
  await learn(db, ask(0));
  const held = hold(db, 0.1);
  const order: string[] = [];
  const results = Array.from({ length: 129 }, (_, n) =>
    db.read<Answer>(runFor(APP, ask(n))).then(
      () => order.push(APP),
      (error: unknown) => order.push(error instanceof StoreUnreachable ? sqlState(error.cause) : String(error)),
    ),
  );
  await Promise.all([held, ...results, db.read(runFor('app_2', ask(1))).then(() => order.push('app_2'))]);
  expect(order.shift()).toBe('EBUSY');
  expect(order.filter((one) => one === APP)).toHaveLength(128);
  expect(order.indexOf('app_2')).toBeLessThanOrEqual(16);
});

describe('a slow statement is not shared', () => {
  const slow = (n: number) => sql`SELECT ${n}::int AS n, ${AT} FROM pg_sleep(0.03)`;

  it('after a slow run alone', async () => {
    const db = open();
    await db.read(runFor(APP, slow(0)));
    const held = hold(db, 0.05);
    const results = await Promise.allSettled([1, 2, 3].map((n) => db.read<Answer>(runFor(APP, slow(n)))));
    expect(statementsOf(results)).toBe(3);
    await held;
  });

  it('after a batch that was slow', async () => {
    const db = open();
    // Fast for 0, which runs alone, and slow for the others.
    const some = (n: number) =>
      sql`SELECT ${n}::int AS n, ${AT} FROM pg_sleep(CASE ${n}::int WHEN 0 THEN 0 ELSE 0.03 END)`;
    await learn(db, some(0));
    const asked = async (): Promise<number> => {
      const held = hold(db, 0.05);
      const results = await Promise.allSettled([1, 2, 3].map((n) => db.read<Answer>(runFor(APP, some(n)))));
      await held;
      return statementsOf(results);
    };
    expect([await asked(), await asked()]).toEqual([1, 3]);
  });

  it('after a batch that reached the time-out of a statement', async () => {
    const db = open({ statementTimeout: 1_000 });
    const some = (n: number) => sql`SELECT ${n}::int AS n FROM pg_sleep(CASE ${n}::int WHEN 0 THEN 0 ELSE 0.3 END)`;
    await learn(db, some(0));
    const held = hold(db, 0.05);
    const batch = await Promise.allSettled([1, 2, 3, 4, 5].map((n) => db.read(runFor(APP, some(n)))));
    expect(batch.map((one) => one.status === 'rejected' && sqlState(one.reason))).toEqual(Array(5).fill('57014'));
    await held;
    const alone = await Promise.all([1, 2].map((n) => db.read(runFor(APP, some(n)))));
    expect(alone).toEqual([[{ n: 1 }], [{ n: 2 }]]);
  });
});

it('behind a pooler, where statements are not prepared, reads are shared as well', async () => {
  const { host, port, name } = database;
  const db = open({ direct: `postgres://postgres@${host}:${port}/${name}` });
  expect(statementsOf(await together<Answer>(db, [1, 2, 3].map(ask)))).toBe(1);
});

it(
  'a batch answers as its reads do alone, whatever the values are, and prepares few statements',
  async () => {
    const db = open();
    const some = fc.record({
      text: fc.option(fc.string({ unit: fc.constantFrom('a', '"', '\\', '{', ',', '$1', 'é', '🙂', "'", '\n') })),
      flag: fc.option(fc.boolean()),
      date: fc.option(fc.date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })),
      bytes: fc.option(fc.uint8Array({ maxLength: 8 })),
      big: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
      list: fc.option(fc.array(fc.option(fc.string({ unit: fc.constantFrom('b', '"', '\\', ',', 'NULL', '}') })))),
    });
    const read = (given: Readonly<Record<string, unknown>>): Fragment => {
      const one = (name: string): Value => given[name] as Value; // each member of the record is one
      const big = given['big'] === null ? null : String(given['big']);
      return sql`SELECT ${one('text')}::text AS text, ${one('flag')}::boolean AS flag, ${one('date')}::timestamptz AS date,
        ${one('bytes')}::bytea AS bytes, ${big}::bigint AS big, ${one('list')}::text[] AS list, n
        FROM generate_series(1, 2) AS n ORDER BY n DESC`;
    };
    await fc.assert(
      fc.asyncProperty(fc.array(some, { minLength: 2, maxLength: 20 }), async (all) => {
        const reads = all.map(read);
        const alone = [];
        for (const one of reads) alone.push(await db.read(runFor(APP, one)));
        const results = await together<object>(db, reads, 0.01);
        const rows = results.map((one) => rowsOf(one).map(({ '~n': _, ...row }: { '~n'?: number }) => row));
        expect(rows).toEqual(alone);
      }),
      { numRuns: times(40, 1_000) },
    );
    // Three values have types that the driver names, so there are 8 lists of types, alone and in batches.
    const [{ count } = expect.fail()] = await db.query<{ count: string }>(
      sql`SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%AS date%'`,
    );
    expect(Number(count)).toBeLessThanOrEqual(17);
  },
  times(60_000, 600_000),
);

it('200 reads of eight kinds at once, five times: each has its own rows', async () => {
  const db = open({ connections: 4 });
  const kinds = Array.from(
    { length: 8 },
    (_, kind) => (n: number) => sql`SELECT ${n}::int AS n, ${String(kind)}::text AS kind`,
  );
  for (const kind of kinds) await learn(db, kind(0));
  for (let round = 0; round < 5; round++) {
    const reads = Array.from({ length: 200 }, (_, n) => (kinds[n % 8] ?? expect.fail())(n));
    const rows = await Promise.all(reads.map((one) => db.read<{ n: number; kind: string }>(runFor(APP, one))));
    expect(rows.map(([row]) => [row?.n, row?.kind])).toEqual(reads.map((_, n) => [n, String(n % 8)]));
  }
});
