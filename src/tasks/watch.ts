import { PeriodicJob } from '../flow/periodic-job.ts';
import type { Database } from '../store/driver/postgres.ts';
import { endedTasks } from '../store/tasks/upkeep.ts';

/** Milliseconds between two queries, so the longest delay in noticing a task that ended in another process. */
const EVERY = 250;

/** Tells callers when their tasks have ended, on any replica. One statement a round asks for all of them. */
export class Watch {
  readonly #db: Database;
  readonly #job: PeriodicJob;
  readonly #waiting = new Map<string, Set<() => void>>();
  #stopped = false;

  constructor(db: Database) {
    this.#db = db;
    // Ignore the error, because the next round asks again. When the caller's waiting time is over, the caller reads the
    // store itself and gets the error.
    this.#job = new PeriodicJob({ every: EVERY, run: () => this.#look(), onError: () => undefined });
  }

  /** Watches a task. `ended` resolves when it has ended or does not exist. Call `leave` when you stop waiting. */
  watch(id: string): { readonly ended: Promise<void>; leave(): void } {
    const all = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, all);
    let wake = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      wake = resolve;
    });
    all.add(wake);
    if (this.#stopped) wake();
    const leave = (): void => {
      all.delete(wake);
      if (all.size === 0 && this.#waiting.get(id) === all) this.#waiting.delete(id);
    };
    return { ended, leave };
  }

  stop(): void {
    this.#stopped = true;
    void this.#job.stop();
    for (const all of this.#waiting.values()) for (const wake of all) wake();
  }

  async #look(): Promise<void> {
    if (this.#waiting.size === 0) return;
    for (const id of await endedTasks(this.#db, [...this.#waiting.keys()])) {
      for (const wake of [...(this.#waiting.get(id) ?? [])]) wake();
    }
  }
}
