import { beatFamilies, trimJournals } from '../store/journal.ts';
import type { Database } from '../store/postgres.ts';

export interface RoundsOptions {
  readonly db: Database;
  readonly onError: (error: unknown) => void;
}

/** Receipts of one statement: 5,000 are removed in a tenth of a second, and their head is locked at its end only. */
const RECEIPTS = 5_000;
/** Websites of one statement: their journals wait for its commit. */
const WEBSITES = 200;
const EVERY = 10_000;

/**
 * One round for the journals, on any replica: removes receipts older than 7 days and appends heartbeats where a family
 * that somebody waits for was silent for 5 minutes. Returns how many receipts went and how many websites were told.
 */
export async function keepJournals(db: Database): Promise<{ trimmed: number; beaten: number }> {
  let [trimmed, beaten] = [0, 0];
  for (let removed = RECEIPTS; removed >= RECEIPTS; trimmed += removed) removed = await trimJournals(db, RECEIPTS);
  for (let told = WEBSITES; told >= WEBSITES; beaten += told) told = await beatFamilies(db, WEBSITES);
  return { trimmed, beaten };
}

/** Rounds every 10 s until `stop` is called, which waits for the round under way. */
export function startRounds({ db, onError }: RoundsOptions): { stop(): Promise<void> } {
  let under: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    under = under.then(() => keepJournals(db)).catch(onError);
  }, EVERY);
  return {
    stop: async () => {
      clearInterval(timer);
      await under;
    },
  };
}
