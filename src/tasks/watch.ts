import { PeriodicJob } from '../flow/periodic-job.ts';
import type { Database } from '../store/driver/postgres.ts';
import type { TaskState } from '../store/tasks/tasks.ts';
import { changedTasks } from '../store/tasks/upkeep.ts';

/** Milliseconds between two queries, so the longest delay in noticing a change that another process made. */
const EVERY = 250;

const FOLLOWED = ['submitted', 'working'] as const satisfies readonly TaskState[];

interface WatchedTask {
  readonly id: string;
  readonly seen: TaskState | 'open';
  readonly wakes: Set<() => void>;
}

/** Tells callers when their tasks have changed, on any replica. One statement a round asks for all of them. */
export class Watch {
  readonly #db: Database;
  readonly #job: PeriodicJob;
  readonly #waiting = new Map<string, WatchedTask>();
  #stopped = false;

  constructor(db: Database) {
    this.#db = db;
    // Ignore the error, because the next round asks again. When the caller's waiting time is over, the caller reads the
    // store itself and gets the error.
    this.#job = new PeriodicJob({ every: EVERY, run: () => this.#look(), onError: () => undefined });
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /**
   * Watches a task. `changed` resolves when the state of the task is not `seen` any more, or when the task does not
   * exist. `open` stands for a task that has not ended. Call `leave` when you stop waiting.
   */
  watch(id: string, seen: TaskState | 'open'): { readonly changed: Promise<void>; leave(): void } {
    const key = `${id} ${seen}`;
    const watched = this.#waiting.get(key) ?? { id, seen, wakes: new Set() };
    this.#waiting.set(key, watched);
    const { wakes } = watched;
    let wake = (): void => undefined;
    const changed = new Promise<void>((resolve) => {
      wake = resolve;
    });
    wakes.add(wake);
    if (this.#stopped) wake();
    const leave = (): void => {
      wakes.delete(wake);
      if (wakes.size === 0 && this.#waiting.get(key) === watched) this.#waiting.delete(key);
    };
    return { changed, leave };
  }

  /** Wakes who follows a task that has ended in this process, so that no round is waited for. */
  ended(id: string): void {
    for (const seen of FOLLOWED) for (const wake of [...(this.#waiting.get(`${id} ${seen}`)?.wakes ?? [])]) wake();
  }

  stop(): void {
    this.#stopped = true;
    void this.#job.stop();
    for (const { wakes } of this.#waiting.values()) for (const wake of wakes) wake();
  }

  async #look(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const all = [...this.#waiting.values()];
    for (const n of await changedTasks(this.#db, all)) for (const wake of [...(all[n]?.wakes ?? [])]) wake();
  }
}
