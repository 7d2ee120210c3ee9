import { Rounds } from '../core/rounds.ts';
import type { Database } from '../store/driver/postgres.ts';
import { sweepTasks } from '../store/tasks/tasks.ts';

/**
 * The largest number of rows in one statement. The number is small, so that the statement releases its locks soon.
 * Other replicas skip locked rows.
 */
const BATCH = 500;
/**
 * Milliseconds between two rounds. When a process dies, its tasks end at most 5 s after their leases have expired
 * (F-12).
 */
const EVERY = 2_000;

export async function sweep(db: Database): Promise<{ interrupted: number; deleted: number }> {
  const all = { interrupted: 0, deleted: 0 };
  for (;;) {
    const { interrupted, deleted } = await sweepTasks(db, BATCH);
    all.interrupted += interrupted;
    all.deleted += deleted;
    if (interrupted < BATCH && deleted < BATCH) return all;
  }
}

export const startSweeper = (db: Database, onError: (error: unknown) => void): Rounds =>
  new Rounds({ every: EVERY, round: () => sweep(db), onError });
