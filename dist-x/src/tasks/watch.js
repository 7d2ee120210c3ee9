import { PeriodicJob } from '../flow/periodic-job.js';
import { changedTasks } from '../store/tasks/upkeep.js';
/** Milliseconds between two queries, so the longest delay in noticing a change that another process made. */
const EVERY = 250;
const FOLLOWED = ['submitted', 'working'];
/** Tells callers when their tasks have changed, on any replica. One statement a round asks for all of them. */
export class Watch {
    #db;
    #job;
    #waiting = new Map();
    #stopped = false;
    constructor(db) {
        this.#db = db;
        // Ignore the error, because the next round asks again. When the caller's waiting time is over, the caller reads the
        // store itself and gets the error.
        this.#job = new PeriodicJob({ every: EVERY, run: () => this.#look(), onError: () => undefined });
    }
    get stopped() {
        return this.#stopped;
    }
    /**
     * Watches a task. `changed` resolves when the state of the task is not `seen` any more, or when the task does not
     * exist. `open` stands for a task that has not ended. Call `leave` when you stop waiting.
     */
    watch(id, seen) {
        const key = `${id} ${seen}`;
        const watched = this.#waiting.get(key) ?? { id, seen, wakes: new Set() };
        this.#waiting.set(key, watched);
        const { wakes } = watched;
        let wake = () => undefined;
        const changed = new Promise((resolve) => {
            wake = resolve;
        });
        wakes.add(wake);
        if (this.#stopped)
            wake();
        const leave = () => {
            wakes.delete(wake);
            if (wakes.size === 0 && this.#waiting.get(key) === watched)
                this.#waiting.delete(key);
        };
        return { changed, leave };
    }
    /** Wakes who follows a task that has ended in this process, so that no round is waited for. */
    ended(id) {
        for (const seen of FOLLOWED)
            for (const wake of [...(this.#waiting.get(`${id} ${seen}`)?.wakes ?? [])])
                wake();
    }
    stop() {
        this.#stopped = true;
        void this.#job.stop();
        for (const { wakes } of this.#waiting.values())
            for (const wake of wakes)
                wake();
    }
    async #look() {
        if (this.#waiting.size === 0)
            return;
        const all = [...this.#waiting.values()];
        for (const n of await changedTasks(this.#db, all))
            for (const wake of [...(all[n]?.wakes ?? [])])
                wake();
    }
}
//# sourceMappingURL=watch.js.map