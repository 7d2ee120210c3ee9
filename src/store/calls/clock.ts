import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';

/** What a process has mended: the time of the last transaction of an earlier primary, if it lies ahead. Else null. */
export type Mended = string | null;

/** Shortens leases and waits that lie too far in the future, because PostgreSQL's clock went back (34_clock.sql). */
export async function mendClock(db: Database, mended: Mended): Promise<Mended> {
  const [row] = await db.query<{ mended: Mended }>(
    sql`SELECT gateway.mend_clock(${mended}::text::timestamptz)::text AS mended`,
  );
  return row?.mended ?? null;
}
