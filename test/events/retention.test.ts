import { afterAll, beforeAll, expect, it } from 'vitest';
import { compile } from '../../src/core/sql.ts';
import { keepJournals } from '../../src/events/journals.ts';
import { brokenJournals } from '../../src/store/doctor/doctor.ts';
import type { Database } from '../../src/store/driver/postgres.ts';
import { trimJournals } from '../../src/store/events/journal.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { heads, plant, receipts } from '../support/events/journal.ts';
import { eventually } from '../support/eventually.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  await plant(database.sql);
});
afterAll(() => database.close());

/** Replaces the journal of a website of tenant 1. The new journal has one receipt for each of `ages`, in this order. */
async function journal(site: number, ages: readonly string[]): Promise<void> {
  const { sql } = database;
  await sql`DELETE FROM gateway.journal WHERE (tenant, site) = (1, ${site})`;
  await sql`DELETE FROM gateway.journal_head WHERE (tenant, site) = (1, ${site})`;
  await sql`INSERT INTO gateway.journal_head (tenant, site, position) VALUES (1, ${site}, ${ages.length})`;
  await sql`INSERT INTO gateway.journal (tenant, site, position, event_type, occurred_at, recorded_at)
    SELECT 1, ${site}, n, 'visitor.changed', now() - age, now() - age FROM unnest(${[...ages]}::interval[]) WITH ORDINALITY AS a (age, n)`;
}

async function kept(site: number): Promise<[trimmed: number, positions: number[]]> {
  const { sql } = database;
  const [head] = await sql`SELECT trimmed::integer FROM gateway.journal_head WHERE (tenant, site) = (1, ${site})`;
  const rows =
    await sql`SELECT position::integer FROM gateway.journal WHERE (tenant, site) = (1, ${site}) ORDER BY position`;
  expect(await brokenJournals(database.db)).toEqual([]);
  return [Number(head?.['trimmed']), rows.map((row) => Number(row['position']))];
}

it('keeps seven days to the second, from the beginning of each journal on', async () => {
  await journal(1, ['8 days', '7 days 2 seconds', '6 days 23:59:30', '9 days', '1 day']);
  await journal(2, ['1 day', '9 days', '9 days']);
  await journal(3, ['30 days', '20 days']);
  expect(await keepJournals(database.db)).toMatchObject({ trimmed: 4, beaten: 0 });
  expect(await kept(1)).toEqual([2, [3, 4, 5]]);
  // When the clock was set back, an older receipt can follow a younger receipt. The older receipt stays until the
  // younger one can be deleted.
  expect(await kept(2)).toEqual([0, [1, 2, 3]]);
  expect(await kept(3)).toEqual([2, []]);
  expect(await keepJournals(database.db)).toMatchObject({ trimmed: 0, beaten: 0 });
  await database.sql`SELECT gateway.append_receipts(1, 3, '{visitor.changed}')`;
  expect(await kept(3)).toEqual([2, [3]]);
});

it('works although steps before it fail, and tells what has failed', async () => {
  await journal(1, ['8 days']);
  const failing = (...names: readonly string[]): Database => ({
    ...database.db,
    query: (statement) => {
      const name = names.find((one) => compile(statement).text.includes(one));
      return name === undefined ? database.db.query(statement) : Promise.reject(new Error(`planted in ${name}`));
    },
  });
  const one = keepJournals(failing('settle_abandoned_import'));
  await expect(one).rejects.toThrow(/^planted in settle_abandoned_import$/);
  expect(await kept(1)).toEqual([1, []]);
  const two = keepJournals(failing('settle_abandoned_import', 'beat_families'));
  await expect(two).rejects.toThrow(/planted in settle_abandoned_import; .*planted in beat_families/);
});

it('works in batches, each leaving journals in order', async () => {
  await journal(
    1,
    Array.from({ length: 25 }, () => '8 days'),
  );
  await journal(
    2,
    Array.from({ length: 25 }, (_, n) => (n < 12 ? '8 days' : '1 day')),
  );
  await journal(3, []);
  const removed: number[] = [];
  for (let n = -1; n !== 0; removed.push(n)) {
    n = await trimJournals(database.db, 10);
    await kept(1);
  }
  expect(removed).toEqual([10, 10, 10, 7, 0]);
  expect([await kept(1), (await kept(2))[0]]).toEqual([[25, []], 12]);
});

it('one at a time, also beside writers', async () => {
  const { sql, db } = database;
  await journal(
    1,
    Array.from({ length: 2_000 }, () => '8 days'),
  );
  const before = await sql`SELECT position::integer FROM gateway.journal_head WHERE (tenant, site) = (1, 1)`;
  const writes = Array.from({ length: 40 }, () => sql`SELECT gateway.append_receipts(1, 1, '{visitor.changed}')`);
  const trims = Array.from({ length: 12 }, () => trimJournals(db, 300));
  await Promise.all([...writes, ...trims]);
  await keepJournals(db);
  const [trimmed, positions] = await kept(1);
  expect(trimmed).toBe(2_000);
  expect(positions).toEqual(Array.from({ length: 40 }, (_, n) => Number(before[0]?.['position']) + n + 1));
});

it('what an import that was cut off owes is appended without another import, and not while one is under way', async () => {
  const { sql } = database;
  await sql`INSERT INTO gateway.import_owed (slot, tenant, site, event_type) VALUES (1, 1, 2, 'visitor.snapshot'), (1, 1, 2, 'privacy.removed')`;
  const before = await heads(sql);
  await sql`UPDATE gateway.import_run SET lease_until = now() + interval '1 minute', (backend, backend_start) =
    (SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())`;
  expect(await keepJournals(database.db)).toMatchObject({ settled: 0 });
  await sql`UPDATE gateway.import_run SET lease_until = now() - interval '1 second'`;
  expect(await keepJournals(database.db)).toMatchObject({ settled: 2 });
  expect(await receipts(sql, before)).toEqual(['1_2 privacy.removed', '1_2 visitor.snapshot']);
  expect(await keepJournals(database.db)).toMatchObject({ settled: 0 });
});

it('what several imports owe is appended in the order of the websites, so no writer of the same two meets it in a deadlock', async () => {
  const { sql, db } = database;
  await sql`INSERT INTO gateway.import_owed (slot, tenant, site, event_type)
    VALUES (1, 1, 2, 'visitor.changed'), (2, 1, 1, 'visitor.changed')`;
  await sql`UPDATE gateway.import_run SET lease_until = now() - interval '1 second'`;
  const before = await heads(sql);
  let settled: Promise<unknown> | undefined;
  await sql.begin(async (writer) => {
    await writer`SELECT gateway.append_receipts(1, 1, '{visitor.changed}')`;
    settled = keepJournals(db);
    await eventually(async () =>
      expect(
        await sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      ).not.toEqual([]),
    );
    await writer`SELECT gateway.append_receipts(1, 2, '{visitor.changed}')`;
  });
  expect(await settled).toMatchObject({ settled: 2 });
  expect(await receipts(sql, before)).toHaveLength(4);
});

it('who begins at what is retained does not begin at its very edge', async () => {
  await journal(2, ['6 days 23:59:00', '6 days 23:01:00', '6 days 22:00:00', '1 day']);
  const position = async (site: number): Promise<number> => {
    const [row] = await database.sql`SELECT gateway.retained_position(1, ${site})::integer AS position`;
    return Number(row?.['position']);
  };
  expect(await position(2)).toBe(2);
  await journal(2, ['6 days 23:59:00']);
  expect([await position(2), await position(99)]).toEqual([1, 0]);
});
