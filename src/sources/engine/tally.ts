import { sql } from '../../core/sql.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { RecordType } from './records.ts';
import type { Run } from './run.ts';

/** `suppressed`: records of erased people, which were left out. */
const COUNTS = ['read', 'written', 'unchanged', 'removed', 'rejected', 'suppressed'] as const;

export type ImportCounts = Readonly<Record<(typeof COUNTS)[number], number>>;

export interface ImportTally extends ImportCounts {
  /** '' stands for lines of an unknown type. */
  readonly type: RecordType | '';
}

/** `read` is the sum of the other counts. Blank lines are not counted. */
export interface ImportResult extends ImportCounts {
  /** The counts of each record type in the import. */
  readonly types: Readonly<Partial<Record<RecordType | '', ImportCounts>>>;
}

export async function resultOf(db: Database, run: Run): Promise<ImportResult> {
  return total(
    await db.query<ImportTally>(sql`
      SELECT type, sum(read)::float8 AS read, sum(written)::float8 AS written, sum(unchanged)::float8 AS unchanged,
             sum(removed)::float8 AS removed, sum(rejected)::float8 AS rejected, sum(suppressed)::float8 AS suppressed
        FROM gateway.import_tally WHERE slot = ${run.slot} GROUP BY type ORDER BY type`),
  );
}

export function total(tally: readonly ImportTally[]): ImportResult {
  const types: Partial<Record<RecordType | '', ImportCounts>> = {};
  const sum = { read: 0, written: 0, unchanged: 0, removed: 0, rejected: 0, suppressed: 0 };
  for (const { type, ...counts } of tally) {
    types[type] = counts;
    for (const name of COUNTS) sum[name] += counts[name];
  }
  return { ...sum, types };
}
