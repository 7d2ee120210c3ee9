import { Rounds } from '../core/rounds.ts';
import type { Database } from '../store/driver/postgres.ts';
import { beatFamilies, settleAbandonedImport, trimJournals } from '../store/events/journal.ts';
import { dropSessions } from '../store/events/realtime.ts';

/**
 * The largest number of rows that one statement writes. Other writes to the same journals wait until the statement
 * commits, which takes a few hundredths of a second.
 */
const RECEIPTS = 1_000;
const WEBSITES = 200;
const EVERY = 10_000;

/**
 * Runs one round of upkeep for the journals. Any replica can run the round. The round appends a heartbeat for each
 * watched event family that was silent for 5 minutes. The round appends the receipts that an interrupted import has not
 * appended. The round deletes receipts older than 7 days, and expired realtime sessions. Returns three numbers:
 * websites with a new heartbeat (`beaten`), appended receipts (`settled`) and deleted receipts (`trimmed`).
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

export const startJournals = (db: Database, onError: (error: unknown) => void): Rounds =>
  new Rounds({ every: EVERY, round: (stop) => keepJournals(db, stop), onError });
