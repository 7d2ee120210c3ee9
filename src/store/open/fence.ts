import { sql } from '../../core/sql.ts';
import { PeriodicJob } from '../../flow/periodic-job.ts';
import { StoreUnreachable } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';

/** Milliseconds between two commits that a standby must confirm. */
const EVERY = 500;
/** A primary counts as cut off when its standbys have confirmed no commit that began in the last so many milliseconds. */
const CUT_OFF = 2_000;
/**
 * Timeout (ms) of such a commit. PostgreSQL cancels none that waits for a standby, so the connection is given up. It
 * stays open at the server until a standby confirms. So nothing is committed while no standby is connected.
 */
export const CONFIRMING = 1_500;

/**
 * Tells when a primary is cut off from its synchronous standbys. Another server may then be the primary, and have
 * revocations that this one does not know. PostgreSQL itself lets no write end there, but it answers reads.
 */
export interface StandbyFence {
  /** The error of all statements of callers while the primary is cut off. */
  readonly error: StoreUnreachable | undefined;
  close(): Promise<void>;
}

/**
 * Commits a message to nobody, twice a second. Such a commit ends only when the standbys that synchronous_standby_names
 * wants have it. Without this setting, nothing is committed and the fence stays open. `db` has one connection of its own.
 * `leave` is called if no standby is connected to a primary that is cut off.
 */
export function openFence(db: Database, leave: () => void): StandbyFence {
  let confirmedAt = performance.now();
  const isCutOff = (): boolean => performance.now() - confirmedAt >= CUT_OFF;
  const confirm = async (): Promise<void> => {
    const began = performance.now();
    const [row] = await db.query<{ confirmed: boolean | null }>(sql`
      SELECT CASE WHEN current_setting('synchronous_standby_names') = '' THEN NULL
                  WHEN NOT EXISTS (SELECT FROM pg_stat_replication) THEN false
                  ELSE pg_logical_emit_message(true, 'gateway', '') IS NOT NULL END AS confirmed`);
    if (row?.confirmed === false) {
      // Standbys can be wanted since a moment ago, and none may have confirmed anything yet.
      confirmedAt = Math.min(confirmedAt, began);
      if (isCutOff()) leave();
      return;
    }
    confirmedAt = row?.confirmed === true ? began : Number.POSITIVE_INFINITY;
    // The wait is over: what follows is confirmed soon.
    if (performance.now() - began > EVERY) job.wake();
  };
  // A failure needs no report: without a confirmation, the fence closes.
  const job = new PeriodicJob({ every: EVERY, run: confirm, onError: () => undefined });
  job.wake();
  return {
    get error() {
      return isCutOff() ? new StoreUnreachable('no synchronous standby confirms what the primary commits') : undefined;
    },
    close: async () => {
      await job.stop();
      await db.close();
    },
  };
}
