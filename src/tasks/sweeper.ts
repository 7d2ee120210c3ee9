import { Rounds } from '../core/rounds.ts';
import type { Database } from '../store/driver/postgres.ts';
import { sweepTasks } from '../store/tasks/tasks.ts';

/**
 * The largest number of rows in one statement. The statement holds its locks for a short time, and other replicas skip
 * locked rows.
 */
const BATCH = 500;
/** Milliseconds between two rounds. If a process dies, its tasks end within their lease and 5 s (F-12). */
const EVERY = 2_000;

/** Sweeps once, on any replica. Ends tasks with an expired lease and deletes expired tasks. Returns both counts. */
export async function sweep(db: Database): Promise<{ interrupted: number; deleted: number }> {
  const all = { interrupted: 0, deleted: 0 };
  for (;;) {
    const { interrupted, deleted } = await sweepTasks(db, BATCH);
    all.interrupted += interrupted;
    all.deleted += deleted;
    if (interrupted < BATCH && deleted < BATCH) return all;
  }
}

/** Sweeps every 2 s. `stop` waits for the running sweep. */
export const startSweeper = (db: Database, onError: (error: unknown) => void): Rounds =>
  new Rounds({ every: EVERY, round: () => sweep(db), onError });
