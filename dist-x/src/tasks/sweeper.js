import { PeriodicJob } from '../flow/periodic-job.js';
import { sweepTasks } from '../store/tasks/upkeep.js';
/** The most rows of one statement. Few, to release its locks soon. Other replicas skip locked rows. */
const BATCH = 500;
/** Milliseconds between two rounds. Tasks of a dead process end at most 5 s after their leases (F-12). */
const EVERY = 2_000;
export async function sweep(db) {
    const all = { interrupted: 0, deleted: 0 };
    for (;;) {
        const { interrupted, deleted } = await sweepTasks(db, BATCH);
        all.interrupted += interrupted;
        all.deleted += deleted;
        if (interrupted < BATCH && deleted < BATCH)
            return all;
    }
}
export const startSweeper = (db, onError) => new PeriodicJob({ every: EVERY, run: () => sweep(db), onError });
//# sourceMappingURL=sweeper.js.map