import { PeriodicJob } from '../flow/periodic-job.ts';
import { allSteps } from '../flow/steps.ts';
import type { Database } from '../store/driver/postgres.ts';
import { beatFamilies, settleAbandonedImport, trimJournals } from '../store/events/journal.ts';
import { dropSessions } from '../store/events/realtime-sessions.ts';

/** Rows of one statement. Other writes to the same journals wait for its commit: a few hundredths of a second. */
const RECEIPTS = 1_000;
const WEBSITES = 200;
const EVERY = 10_000;

/**
 * One round of upkeep for the journals, on any replica. Appends a heartbeat for each watched event family that was
 * silent for 5 minutes (`beaten`: websites with one). Appends the receipts that an interrupted import left out
 * (`settled`). Deletes receipts older than 7 days (`trimmed`), and expired realtime sessions. A step that fails does not
 * stop those behind it.
 */
export async function keepJournals(
  db: Database,
  stop?: AbortSignal,
): Promise<{ trimmed: number; beaten: number; settled: number }> {
  let [trimmed, beaten, settled] = [0, 0, 0];
  const goesOn = (n: number, batch: number): boolean => n >= batch && stop?.aborted !== true;
  await allSteps(
    [
      async () => {
        settled = await settleAbandonedImport(db);
      },
      async () => {
        for (let told = WEBSITES; goesOn(told, WEBSITES); beaten += told) told = await beatFamilies(db, WEBSITES);
      },
      async () => {
        for (let gone = RECEIPTS; goesOn(gone, RECEIPTS); trimmed += gone) gone = await trimJournals(db, RECEIPTS);
      },
      async () => {
        for (let gone = RECEIPTS; goesOn(gone, RECEIPTS); ) gone = await dropSessions(db, RECEIPTS);
      },
    ],
    stop,
  );
  return { trimmed, beaten, settled };
}

export const startJournals = (db: Database, onError: (error: unknown) => void): PeriodicJob =>
  new PeriodicJob({ every: EVERY, run: (stop) => keepJournals(db, stop), onError });
