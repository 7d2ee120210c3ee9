import type { Authority } from '../core/authority.ts';
import { BatchQueues } from '../flow/batch-queues.ts';
import type { Proved } from '../store/calls/guard.ts';
import { isHeldByMove, isUnavailable, mayRepeat } from '../store/driver/errors.ts';
import type { Database } from '../store/driver/postgres.ts';
import { type Acceptance, acceptTasks, endTasks, type TaskEnding } from '../store/tasks/batches.ts';
import { type Accepted, type Accepting, acceptTask, endTask, type RunEnd, type TaskRow } from '../store/tasks/tasks.ts';

const BATCH = 32;
/** The longest time in milliseconds that a task waits while no batch makes progress. */
const PATIENCE = 1_000;
/** There is only one queue. One batch runs at a time, and tasks that arrive meanwhile share the next batch. */
const QUEUE = { queue: '', group: '' };

/** The largest number of tasks that can wait for a batch. */
const LENGTH = 1_000;

/** The batch has left out this task, so a separate statement must handle it. */
type Alone = 'alone';

export interface BatchesOptions {
  readonly db: Database;
  /** A connection for new and one for ended tasks, used only by batches, so that a batch waits for nothing else. */
  readonly batches: { readonly begins: Database; readonly ends: Database };
  readonly onError: (error: unknown) => void;
}

/**
 * Stores new tasks and ended tasks in batches (group commit). A caller gets its answer when its batch has committed.
 *
 * A batch can leave out a task. A separate statement then stores this one task. The separate statement can wait for
 * locked rows, so it runs outside the queue of the batches. The separate statement also runs if the reply of a batch was
 * lost. In this case, the statement finds what the batch has stored.
 */
export class Batches {
  readonly #db: Database;
  readonly #acceptances: BatchQueues<Acceptance, Proved<Accepted> | Alone>;
  readonly #ends: BatchQueues<TaskEnding, TaskRow | Alone>;

  constructor({ db, batches, onError }: BatchesOptions) {
    this.#db = db;
    const queues = <Item, Result>(enter: (batch: readonly Item[]) => Promise<(Result | undefined)[]>) =>
      new BatchQueues<Item, Result | Alone>({
        run: async (batch) => {
          try {
            const results = await enter(batch);
            return results.map((one) => one ?? 'alone');
          } catch (error) {
            // The store is down, so a statement for one task would also fail. While one organization moves, only its own fail.
            if (isUnavailable(error) && !mayRepeat(error) && !isHeldByMove(error)) throw error;
            if (!isUnavailable(error))
              onError(new Error('a batch of tasks failed; each is done by itself', { cause: error }));
            return batch.map(() => 'alone' as const);
          }
        },
        slots: 1,
        batch: BATCH,
        length: LENGTH,
        patience: PATIENCE,
        // Answers of the store come for several tasks at once, and so do the next requests of their callers. Without a
        // wait, the first task would go alone, and all others would wait until its commit is on the disk.
        gathers: true,
        // The batch never ran in time. Handle this task alone, because a batch that hangs must not block the others.
        late: 'alone',
      });
    this.#acceptances = queues((batch) => acceptTasks(batches.begins, batch));
    this.#ends = queues((batch) => endTasks(batches.ends, batch));
  }

  async accept(authority: Authority, task: Accepting): Promise<Proved<Accepted>> {
    // A batch stores no text, because few messages have one beside their skill.
    if (task.text) return acceptTask({ db: this.#db, authority }, task);
    const accepted = await this.#acceptances.add({ ...QUEUE, app: authority.appId }, { authority, task });
    return accepted === 'alone' ? acceptTask({ db: this.#db, authority }, task) : accepted;
  }

  async end(authority: Authority, id: string, end: RunEnd): Promise<TaskRow | undefined> {
    const row = await this.#ends.add({ ...QUEUE, app: authority.appId }, { authority, id, end });
    return row === 'alone' ? endTask(this.#db, authority, id, end) : row;
  }
}
