import { sql } from '../core/sql.js';
import { PeriodicJob } from '../flow/periodic-job.js';
/** Messages and files of one transaction. Few, because a file can have 512 pieces. */
const MESSAGES = 200;
const FILES = 50;
const EVERY = 60_000;
/**
 * Clears the texts and files that organizations no longer keep, as far as a round is due. Returns the transactions. An
 * organization whose messages cannot be cleared does not stop the others: the first error is thrown after them.
 */
export async function clearOldMessages(db, stop) {
    const failed = [];
    const errors = [];
    for (let batches = 0;; batches++) {
        if (stop?.aborted === true)
            return batches;
        const [row] = await db.query(sql `SELECT gateway.retention_turn(${failed}::bigint[]) AS tenant`);
        const tenant = row?.tenant ?? null;
        if (tenant === null) {
            if (errors.length > 0)
                throw errors[0];
            return batches;
        }
        try {
            await db.query(sql `SELECT gateway.clear_old_messages(${tenant}, ${MESSAGES}, ${FILES})`);
        }
        catch (error) {
            failed.push(tenant);
            errors.push(error);
        }
    }
}
export const startRetention = (db, onError) => new PeriodicJob({ every: EVERY, run: (stop) => clearOldMessages(db, stop), onError });
//# sourceMappingURL=retention.js.map