import type { Database } from '../store/driver/postgres.ts';
import { beatFamilies, settleAbandonedImport, trimJournals } from '../store/events/journal.ts';
import { dropSessions } from '../store/events/realtime.ts';

export interface RoundsOptions {
  readonly db: Database;
  readonly onError: (error: unknown) => void;
}

/** Receipts of one statement, and websites: their journals wait for its commit, a few hundredths of a second. */
const RECEIPTS = 1_000;
const WEBSITES = 200;
const EVERY = 10_000;

/**
 * One round for the journals, on any replica: appends heartbeats where a family that somebody waits for was silent for 5
 * minutes, and what an import that was cut off has left owing, and removes receipts older than 7 days and realtime sessions
 * that have run out. Returns how many websites were told, how many receipts were settled, and how many went.
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

/** Rounds every 10 s, one at a time, until `stop` is called, which waits for the statement under way. */
export function startRounds({ db, onError }: RoundsOptions): { stop(): Promise<void> } {
  const stop = new AbortController();
  let under: Promise<unknown> | undefined;
  const timer = setInterval(() => {
    under ??= keepJournals(db, stop.signal)
      .catch(onError)
      .finally(() => {
        under = undefined;
      });
  }, EVERY);
  return {
    stop: async () => {
      clearInterval(timer);
      stop.abort();
      await under;
    },
  };
}
