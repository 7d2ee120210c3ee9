import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';

/** Seconds by which a source may be behind. */
const BEHIND = 60;

/** Counts sources that fail, that are behind their helpdesk, or that could not be compared. A paused source stands still on purpose. */
export async function lateSources(db: Database): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    SELECT count(*)::integer AS count FROM gateway.source s
     WHERE NOT s.paused AND (gateway.source_state(s) = 'failing' OR gateway.source_lag(s) > ${BEHIND} OR s.compare_error IS NOT NULL)`);
  return row?.count ?? 0;
}

export async function rejectedRows(db: Database): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    sql`SELECT count(DISTINCT (source, origin))::integer AS count FROM gateway.source_reject`,
  );
  return row?.count ?? 0;
}
