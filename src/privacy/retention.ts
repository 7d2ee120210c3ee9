import { sql } from '../core/sql.ts';
import { PeriodicJob } from '../flow/periodic-job.ts';
import type { Database } from '../store/driver/postgres.ts';

/** Messages of one transaction. Few, because a message can have large files. */
const MESSAGES = 200;
const EVERY = 60_000;

/** Clears the texts and files that organizations no longer keep, as far as a round is due. Returns the transactions. */
export async function clearOldMessages(db: Database, stop?: AbortSignal): Promise<number> {
  for (let batches = 0; ; batches++) {
    if (stop?.aborted === true) return batches;
    const [row] = await db.query<{ more: boolean }>(sql`SELECT gateway.clear_old_messages(${MESSAGES}) AS more`);
    if (row?.more !== true) return batches;
  }
}

export const startRetention = (db: Database, onError: (error: unknown) => void): PeriodicJob =>
  new PeriodicJob({ every: EVERY, run: (stop) => clearOldMessages(db, stop), onError });
