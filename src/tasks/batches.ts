import type { Authority } from '../core/authority.ts';
import { Lanes } from '../core/lanes.ts';
import type { Proved } from '../store/calls/guard.ts';
import { isUnavailable, mayRepeat } from '../store/driver/errors.ts';
import type { Database } from '../store/driver/postgres.ts';
import { type Acceptance, acceptTasks, type Ending, endTasks } from '../store/tasks/batches.ts';
import { type Accepted, type Accepting, acceptTask, endTask, type RunEnd, type TaskRow } from '../store/tasks/tasks.ts';

/** Tasks in one statement at most. */
const BATCH = 32;
/** Milliseconds that a task waits while no batch moves. */
const PATIENCE = 1_000;
/** One lane: one batch runs at a time. Tasks that arrive meanwhile share the next one, the apps in turn. */
const LANE = { lane: '', group: '' };

/** Tasks that may wait for a batch: those that the runner holds, and those that are accepted at the same time. */
const LENGTH = 1_000;

/** The batch left this task to a statement of its own. */
type Alone = 'alone';

export interface BatchesOptions {
  readonly db: Database;
  /** One connection each, used only by batches. So a batch never queues behind other statements. */
  readonly batches: { readonly begins: Database; readonly ends: Database };
  readonly onError: (error: unknown) => void;
}

/**
 * Stores acceptances and ends of tasks in batches (group commit). A caller is answered only after its batch has
 * committed.
 *
 * When a batch leaves out a task, it has not changed that task. The statement for one task then decides, outside the
 * lane, because it may wait for locked rows. After a batch with a lost reply, that statement finds what the batch has
 * done.
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
            // The store is away. Single statements would fail too.
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
        // The batch never ran. A hanging batch must not turn away all callers.
        late: 'alone',
      });
    this.#acceptances = lanes((batch) => acceptTasks(batches.begins, batch));
    this.#ends = lanes((batch) => endTasks(batches.ends, batch));
  }

  /** Same as acceptTask. */
  async accept(authority: Authority, task: Accepting): Promise<Proved<Accepted>> {
    const accepted = await this.#acceptances.add({ ...LANE, app: authority.appId }, { authority, task });
    return accepted === 'alone' ? acceptTask({ db: this.#db, authority }, task) : accepted;
  }

  /** Same as endTask. */
  async end(authority: Authority, id: string, end: RunEnd): Promise<TaskRow | undefined> {
    const row = await this.#ends.add({ ...LANE, app: authority.appId }, { authority, id, end });
    return row === 'alone' ? endTask(this.#db, authority, id, end) : row;
  }
}
