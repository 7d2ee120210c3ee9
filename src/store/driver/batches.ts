import { type Fragment, raw, sql } from '../../core/sql.ts';
import type { Database } from './postgres.ts';

/** Some rows of a table. Both members are SQL of the program, never of a caller. */
export interface RowsOfTable {
  readonly name: string;
  /** The condition that finds the rows. The table's name in it is `t`. */
  readonly where: string;
}

/**
 * Deletes at most `n` of the rows in one short statement, and returns how many it has deleted. Rows that another
 * statement has locked are passed over. `allowed` is a subquery with one boolean, which is read once, before the first
 * row. It says whether the rows may go, and can set what the triggers read.
 */
export async function deleteBatch(
  db: Database,
  { name, where }: RowsOfTable,
  n: number,
  allowed: Fragment,
): Promise<number> {
  const [row] = await db.query<{ deleted: number }>(sql`
    WITH gone AS (
      DELETE FROM ${raw(name)} d
       WHERE (${allowed})
         AND d.ctid = ANY (ARRAY(SELECT t.ctid FROM ${raw(name)} t WHERE ${raw(where)} LIMIT ${n} FOR UPDATE SKIP LOCKED))
      RETURNING 1)
    SELECT count(*)::integer AS deleted FROM gone`);
  return row?.deleted ?? 0;
}
