import { PeriodicJob } from '../flow/periodic-job.ts';
import type { Database } from '../store/driver/postgres.ts';
import { sweepTasks } from '../store/tasks/upkeep.ts';

/** The most rows of one statement. Few, to release its locks soon. Other replicas skip locked rows. */
const BATCH = 500;
/** Milliseconds between two rounds. Tasks of a dead process end at most 5 s after their leases (F-12). */
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

export const startSweeper = (db: Database, onError: (error: unknown) => void): PeriodicJob =>
  new PeriodicJob({ every: EVERY, run: () => sweep(db), onError });
