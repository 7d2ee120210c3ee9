import type { Database } from '../store/driver/postgres.ts';
import { endedTasks } from '../store/tasks/tasks.ts';

/** Milliseconds after which a waiting caller hears of what another process has done to its task. */
const EVERY = 250;

/** Tells callers of this process that their tasks have ended, on whatever replica: one statement a round for all of them. */
export class Watch {
  readonly #db: Database;
  readonly #timer: NodeJS.Timeout;
  readonly #waiting = new Map<string, Set<() => void>>();
  #looking = false;
  #stopped = false;

  constructor(db: Database) {
    this.#db = db;
    this.#timer = setInterval(() => void this.#look(), EVERY).unref();
  }

  /** `ended` resolves when the task has ended or is gone; `leave` when nobody waits for that any more. */
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

  /** Ends all waits, and those that begin later at once. */
  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
    for (const all of this.#waiting.values()) for (const wake of all) wake();
  }

  async #look(): Promise<void> {
    if (this.#looking || this.#waiting.size === 0) return;
    this.#looking = true;
    try {
      for (const id of await endedTasks(this.#db, [...this.#waiting.keys()])) {
        for (const wake of [...(this.#waiting.get(id) ?? [])]) wake();
      }
    } catch {
      // Asked again in the next round; who has waited long enough asks the store itself, and is told what is wrong.
    } finally {
      this.#looking = false;
    }
  }
}
