import { sql } from '../../core/sql.js';
import { PeriodicJob } from '../../flow/periodic-job.js';
import { StoreUnreachable } from '../driver/errors.js';
const SERVER = sql `pg_postmaster_start_time()::text`;
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
 * Commits a message to nobody, twice a second. Such a commit ends only when the standbys that synchronous_standby_names
 * wants have it. Without this setting, nothing is committed and the fence stays open. `db` has one connection of its own.
 *
 * Only one server is proved so, and the other pools can have connections to another one. So all pools make new ones when
 * the server changes, and when a primary is cut off.
 */
export function openFence(db, hosts) {
    let confirmedAt = performance.now();
    let last;
    const isCutOff = () => performance.now() - confirmedAt >= CUT_OFF;
    /** False if the answer is that of another server than the last one. */
    const isLast = (server) => {
        const same = last === undefined || server === last;
        last = server;
        if (!same)
            hosts.renew();
        return same;
    };
    const confirm = async () => {
        const began = performance.now();
        const [found] = await db.query(sql `
      SELECT ${SERVER} AS server, current_setting('synchronous_standby_names') <> '' AS wants,
             NOT EXISTS (SELECT FROM pg_stat_replication) OR EXISTS (
               SELECT FROM pg_stat_activity a
                WHERE a.application_name = current_setting('application_name') AND a.wait_event = 'SyncRep'
                  AND a.query_start < clock_timestamp() - ${CONFIRMING}::integer * interval '1 millisecond') AS stuck`);
        if (!found)
            return;
        isLast(found.server);
        if (!found.wants) {
            confirmedAt = Number.POSITIVE_INFINITY;
            return;
        }
        // Standbys can be wanted since a moment ago, and none may have confirmed anything yet.
        confirmedAt = Math.min(confirmedAt, began);
        if (found.stuck) {
            if (isCutOff())
                hosts.leave(hosts.current, true);
            return;
        }
        const [done] = await db.query(sql `
      SELECT ${SERVER} AS server, pg_logical_emit_message(true, 'gateway', '') AS at`);
        if (isLast(done?.server))
            confirmedAt = began;
        // The wait is over: what follows is confirmed soon.
        if (performance.now() - began > EVERY)
            job.wake();
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
//# sourceMappingURL=fence.js.map