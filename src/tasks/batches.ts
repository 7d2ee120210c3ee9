import type { Authority } from '../core/authority.ts';
import { Lanes } from '../core/lanes.ts';
import type { Proved } from '../store/calls/guard.ts';
import { isUnavailable, mayRepeat } from '../store/driver/errors.ts';
import type { Database } from '../store/driver/postgres.ts';
import { type Acceptance, acceptTasks, type Ending, endTasks } from '../store/tasks/batches.ts';
import { type Accepted, type Accepting, acceptTask, endTask, type RunEnd, type TaskRow } from '../store/tasks/tasks.ts';

/** The largest number of tasks in one statement. */
const BATCH = 32;
/** Milliseconds that a task waits while no batch makes progress. */
const PATIENCE = 1_000;
/** The key of the only lane (a queue). One batch runs at a time. Tasks that arrive meanwhile share the next batch. */
const LANE = { lane: '', group: '' };

/** The largest number of tasks that wait for a batch. The runner holds some of them. The others are being accepted. */
const LENGTH = 1_000;

/** The batch has left out this task, so a separate statement handles it. */
type Alone = 'alone';

export interface BatchesOptions {
  readonly db: Database;
  /**
   * One connection for acceptances and one for ends. Only batches use them, so a batch never queues behind other work.
   */
  readonly batches: { readonly begins: Database; readonly ends: Database };
  readonly onError: (error: unknown) => void;
}

/**
 * Stores acceptances and ends of tasks in batches (group commit). A caller is answered only after its batch has
 * committed.
 *
 * A batch does not change a task that it leaves out. The statement for one task then decides. It runs outside the lane,
 * because it can wait for locked rows. If the reply of a batch was lost, this statement finds what the batch has done.
 */
export class Batches {
  readonly #db: Database;
  readonly #acceptances: Lanes<Acceptance, Proved<Accepted> | Alone>;
  readonly #ends: Lanes<Ending, TaskRow | Alone>;

  constructor({ db, batches, onError }: BatchesOptions) {
    this.#db = db;
    const lanes = <Item, Result>(enter: (batch: readonly Item[]) => Promise<(Result | undefined)[]>) =>
      new Lanes<Item, Result | Alone>({
        run: async (batch) => {
          try {
            const results = await enter(batch);
            return results.map((one) => one ?? 'alone');
          } catch (error) {
            // The store is away, so single statements would fail too.
            if (isUnavailable(error) && !mayRepeat(error)) throw error;
            if (!isUnavailable(error))
              onError(new Error('a batch of tasks failed; each is done by itself', { cause: error }));
            return batch.map(() => 'alone' as const);
          }
        },
        slots: 1,
        batch: BATCH,
        length: LENGTH,
        patience: PATIENCE,
        // The batch with this task never ran. A hanging batch must not turn away all callers.
        late: 'alone',
      });
    this.#acceptances = lanes((batch) => acceptTasks(batches.begins, batch));
    this.#ends = lanes((batch) => endTasks(batches.ends, batch));
  }

  /** Accepts a task in a batch, with the same result as `acceptTask`. */
  async accept(authority: Authority, task: Accepting): Promise<Proved<Accepted>> {
    const accepted = await this.#acceptances.add({ ...LANE, app: authority.appId }, { authority, task });
    return accepted === 'alone' ? acceptTask({ db: this.#db, authority }, task) : accepted;
  }

  /** Ends a task in a batch, with the same result as `endTask`. */
  async end(authority: Authority, id: string, end: RunEnd): Promise<TaskRow | undefined> {
    const row = await this.#ends.add({ ...LANE, app: authority.appId }, { authority, id, end });
    return row === 'alone' ? endTask(this.#db, authority, id, end) : row;
  }
}
