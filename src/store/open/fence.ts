import { sql } from '../../core/sql.ts';
import { PeriodicJob } from '../../flow/periodic-job.ts';
import { StoreUnreachable } from '../driver/errors.ts';
import type { Hosts } from '../driver/hosts.ts';
import type { Database } from '../driver/postgres.ts';

const SERVER = sql`pg_postmaster_start_time()::text`;
/** Milliseconds between two commits that a standby must confirm. */
const EVERY = 500;
/** A primary counts as cut off when its standbys have confirmed no commit that began in the last so many milliseconds. */
const CUT_OFF = 2_000;
/**
 * Timeout (ms) of such a commit. PostgreSQL cancels none that waits for a standby, so the connection is given up. It
 * stays open at the server until a standby confirms. So nothing is committed while an earlier commit waits there.
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

interface Primary {
  /** When the server started. No two servers have started in the same microsecond. */
  readonly server: string;
  /** True if a commit must wait for standbys. */
  readonly wants: boolean;
  /** True if a commit would wait for ever: no standby is connected, or an earlier commit still waits. */
  readonly stuck: boolean;
}

/**
 * Commits a message to nobody, twice a second. Such a commit ends only when the standbys that synchronous_standby_names
 * wants have it. Without this setting, nothing is committed and the fence stays open. `db` has one connection of its own.
 *
 * Only one server is proved so, and the other pools can have connections to another one. So all pools make new ones when
 * the server changes, and when a primary is cut off.
 */
export function openFence(db: Database, hosts: Pick<Hosts, 'current' | 'leave' | 'renew'>): StandbyFence {
  let confirmedAt = performance.now();
  let last: string | undefined;
  const isCutOff = (): boolean => performance.now() - confirmedAt >= CUT_OFF;
  /** False if the answer is that of another server than the last one. */
  const isLast = (server: string | undefined): boolean => {
    const same = last === undefined || server === last;
    last = server;
    if (!same) hosts.renew();
    return same;
  };
  const confirm = async (): Promise<void> => {
    const began = performance.now();
    const [found] = await db.query<Primary>(sql`
      SELECT ${SERVER} AS server, current_setting('synchronous_standby_names') <> '' AS wants,
             NOT EXISTS (SELECT FROM pg_stat_replication) OR EXISTS (
               SELECT FROM pg_stat_activity a
                WHERE a.application_name = current_setting('application_name') AND a.wait_event = 'SyncRep'
                  AND a.query_start < clock_timestamp() - ${CONFIRMING}::integer * interval '1 millisecond') AS stuck`);
    if (!found) return;
    isLast(found.server);
    if (!found.wants) {
      confirmedAt = Number.POSITIVE_INFINITY;
      return;
    }
    // Standbys can be wanted since a moment ago, and none may have confirmed anything yet.
    confirmedAt = Math.min(confirmedAt, began);
    if (found.stuck) {
      if (isCutOff()) hosts.leave(hosts.current, true);
      return;
    }
    const [done] = await db.query<Pick<Primary, 'server'>>(sql`
      SELECT ${SERVER} AS server, pg_logical_emit_message(true, 'gateway', '') AS at`);
    if (isLast(done?.server)) confirmedAt = began;
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
