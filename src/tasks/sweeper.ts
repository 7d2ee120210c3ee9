import type { Database } from '../store/driver/postgres.ts';
import { sweepTasks } from '../store/tasks/tasks.ts';

/** Rows of one statement: short locks, and other replicas skip them. */
const BATCH = 500;
/** Milliseconds between rounds: a task ends within its lease and 5 s when its process dies (checks, F-12). */
const EVERY = 2_000;

/** One round, on any replica: ends tasks whose process let them lapse, deletes those that have expired. How many. */
export async function sweep(db: Database): Promise<{ interrupted: number; deleted: number }> {
  const all = { interrupted: 0, deleted: 0 };
  for (;;) {
    const { interrupted, deleted } = await sweepTasks(db, BATCH);
    all.interrupted += interrupted;
    all.deleted += deleted;
    if (interrupted < BATCH && deleted < BATCH) return all;
  }
}

/** Rounds until `stop` is called, which waits for the round under way. */
export function startSweeper(db: Database, onError: (error: unknown) => void): { stop(): Promise<void> } {
  let under: Promise<unknown> | undefined;
  const timer = setInterval(() => {
    // A round that waits for a silent server is not followed by a crowd of others.
    under ??= sweep(db)
      .catch(onError)
      .finally(() => {
        under = undefined;
      });
  }, EVERY).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await under;
    },
  };
}
