import { Rounds } from '../core/rounds.ts';
import type { Database } from '../store/driver/postgres.ts';
import { beatFamilies, settleAbandonedImport, trimJournals } from '../store/events/journal.ts';
import { dropSessions } from '../store/events/realtime.ts';

/**
 * The largest number of rows in one statement. The journals wait for the statement's commit, which takes a few
 * hundredths of a second.
 */
const RECEIPTS = 1_000;
const WEBSITES = 200;
const EVERY = 10_000;

/**
 * Runs one round of upkeep for the journals, on any replica. The round appends a heartbeat where a watched event family
 * was silent for 5 minutes. It appends the receipts that an interrupted import still owes. It removes receipts older
 * than 7 days and expired realtime sessions.
 *
 * Returns the number of websites that got a heartbeat (`beaten`), of appended receipts (`settled`) and of removed
 * receipts (`trimmed`).
 */
export async function keepJournals(
  db: Database,
  stop?: AbortSignal,
): Promise<{ trimmed: number; beaten: number; settled: number }> {
  const settled = await settleAbandonedImport(db);
  let [trimmed, beaten] = [0, 0];
  const goesOn = (n: number, batch: number): boolean => n >= batch && stop?.aborted !== true;
  for (let told = WEBSITES; goesOn(told, WEBSITES); beaten += told) told = await beatFamilies(db, WEBSITES);
  for (let gone = RECEIPTS; goesOn(gone, RECEIPTS); trimmed += gone) gone = await trimJournals(db, RECEIPTS);
  for (let gone = RECEIPTS; goesOn(gone, RECEIPTS); ) gone = await dropSessions(db, RECEIPTS);
  return { trimmed, beaten, settled };
}

/** Runs a round of upkeep for the journals every 10 s. `stop` waits for the running statement. */
export const startJournals = (db: Database, onError: (error: unknown) => void): Rounds =>
  new Rounds({ every: EVERY, round: (stop) => keepJournals(db, stop), onError });
