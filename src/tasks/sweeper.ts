import { Rounds } from '../core/rounds.ts';
import type { Database } from '../store/driver/postgres.ts';
import { sweepTasks } from '../store/tasks/tasks.ts';

/** Rows in one statement. Its locks are short, and other replicas skip them. */
const BATCH = 500;
/** Milliseconds between rounds. When its process dies, a task ends within its lease and 5 s (F-12). */
const EVERY = 2_000;

/** Ends tasks with an expired lease and deletes expired tasks, once. Runs on any replica. Returns both numbers. */
export async function sweep(db: Database): Promise<{ interrupted: number; deleted: number }> {
  const all = { interrupted: 0, deleted: 0 };
  for (;;) {
    const { interrupted, deleted } = await sweepTasks(db, BATCH);
    all.interrupted += interrupted;
    all.deleted += deleted;
    if (interrupted < BATCH && deleted < BATCH) return all;
  }
}

/** Does a round every 2 s. `stop` waits for the running round. */
export const startSweeper = (db: Database, onError: (error: unknown) => void): Rounds =>
  new Rounds({ every: EVERY, round: () => sweep(db), onError });
