import { pauseUpTo } from '../flow/pause.ts';
import { asFailure, Caller, type Corridor } from '../gateway/call.ts';
import { StaleAuthority } from '../store/calls/guard.ts';
import type { Database } from '../store/driver/postgres.ts';
import { readTask } from '../store/tasks/tasks.ts';
import { isOpen, type Task, viewOf } from './view.ts';
import type { Watch } from './watch.ts';

export interface Following {
  readonly bearer: string;
  /** The reader's address. */
  readonly from: string | undefined;
  /** Ends the stream. The task itself continues. */
  readonly signal: AbortSignal;
}

/** Milliseconds between two attempts to read a task while the store does not answer. */
const AGAIN = 250;

/** The streams of one process, each of which follows one task. */
export class Follow {
  readonly #db: Database;
  readonly #corridor: Corridor;
  readonly #watch: Watch;
  #size = 0;

  constructor(options: { db: Database; corridor: Corridor; watch: Watch }) {
    this.#db = options.db;
    this.#corridor = options.corridor;
    this.#watch = options.watch;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Gives the task each time that its state is another one than before, on any replica, until the task has ended, waits
   * for input or expires. Each task is read under the authority of that moment. Throws a 401 when there is none.
   */
  async *follow({ bearer, from, signal }: Following, first: Task): AsyncGenerator<Task, void, undefined> {
    let last = first;
    this.#size++;
    try {
      while (isOpen(last.state)) {
        await this.#changed(last, signal);
        if (signal.aborted || this.#watch.stopped) return;
        const next = await this.#read(bearer, from, last.id);
        if (next === 'later') await pauseUpTo(AGAIN, [], signal);
        else if (!next) return;
        else if (next.state !== last.state) {
          last = next;
          yield next;
        }
      }
    } finally {
      this.#size--;
    }
  }

  /** Waits without a timer, because a process can have a thousand streams. */
  async #changed({ id, state }: Task, signal: AbortSignal): Promise<void> {
    const watched = this.#watch.watch(id, state);
    await pauseUpTo(Infinity, [watched.changed], signal);
    watched.leave();
  }

  async #read(bearer: string, from: string | undefined, id: string): Promise<Task | undefined | 'later'> {
    try {
      const authority = await this.#corridor.prove(bearer, 'a2a', from);
      const row = await new Caller(authority).take(readTask({ db: this.#db, authority }, id));
      return row && viewOf(row, authority);
    } catch (error) {
      if (error instanceof StaleAuthority) return 'later';
      const failure = asFailure(error);
      if (failure.status !== 503) throw failure;
      return 'later';
    }
  }
}
