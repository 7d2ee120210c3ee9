import { Rounds } from '../core/rounds.ts';
import type { Database } from '../store/driver/postgres.ts';
import { endedTasks } from '../store/tasks/tasks.ts';

/**
 * Milliseconds between two queries. If a task ends in another process, the waiting caller learns of the end within this
 * time.
 */
const EVERY = 250;

/**
 * Tells callers of this process when their tasks have ended, on any replica. In each round, one statement asks for all
 * these tasks.
 */
export class Watch {
  readonly #db: Database;
  readonly #rounds: Rounds;
  readonly #waiting = new Map<string, Set<() => void>>();
  #stopped = false;

  constructor(db: Database) {
    this.#db = db;
    // Ignore the error, because the next round asks again. When the caller's waiting time is over, the caller reads the
    // store itself and gets the error.
    this.#rounds = new Rounds({ every: EVERY, round: () => this.#look(), onError: () => undefined });
  }

  /**
   * Watches a task. `ended` resolves when the task has ended or does not exist. The caller must call `leave` when it
   * stops waiting.
   */
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
    void this.#rounds.stop();
    for (const all of this.#waiting.values()) for (const wake of all) wake();
  }

  async #look(): Promise<void> {
    if (this.#waiting.size === 0) return;
    for (const id of await endedTasks(this.#db, [...this.#waiting.keys()])) {
      for (const wake of [...(this.#waiting.get(id) ?? [])]) wake();
    }
  }
}
