import { PeriodicJob } from '../flow/periodic-job.js';
import { beatFamilies, settleAbandonedImport, trimJournals } from '../store/events/journal.js';
import { dropSessions } from '../store/events/realtime-sessions.js';
/** Rows of one statement. Other writes to the same journals wait for its commit: a few hundredths of a second. */
const RECEIPTS = 1_000;
const WEBSITES = 200;
const EVERY = 10_000;
/**
 * One round of upkeep for the journals, on any replica. Appends a heartbeat for each watched event family that was
 * silent for 5 minutes (`beaten`: websites with one). Appends the receipts that an interrupted import left out
 * (`settled`). Deletes receipts older than 7 days (`trimmed`), and expired realtime sessions.
 */
export async function keepJournals(db, stop) {
    const settled = await settleAbandonedImport(db);
    let [trimmed, beaten] = [0, 0];
    const goesOn = (n, batch) => n >= batch && stop?.aborted !== true;
    for (let told = WEBSITES; goesOn(told, WEBSITES); beaten += told)
        told = await beatFamilies(db, WEBSITES);
    for (let gone = RECEIPTS; goesOn(gone, RECEIPTS); trimmed += gone)
        gone = await trimJournals(db, RECEIPTS);
    for (let gone = RECEIPTS; goesOn(gone, RECEIPTS);)
        gone = await dropSessions(db, RECEIPTS);
    return { trimmed, beaten, settled };
}
export const startJournals = (db, onError) => new PeriodicJob({ every: EVERY, run: (stop) => keepJournals(db, stop), onError });
//# sourceMappingURL=journals.js.map