import type { Authority } from '../core/authority.ts';
import { Lanes } from '../gateway/lanes.ts';
import type { Session } from '../store/calls/guard.ts';
import { type Database, isUnavailable, mayRepeat } from '../store/driver/postgres.ts';
import { type Acceptance, acceptTasks, type Ending, endTasks } from '../store/tasks/batches.ts';
import { type Accepted, type Accepting, acceptTask, endTask, type RunEnd, type TaskRow } from '../store/tasks/tasks.ts';

/** Tasks of one statement at most. */
const BATCH = 32;
/** Milliseconds that a task waits where no batch moves. */
const PATIENCE = 1_000;
/** One batch under way: what comes meanwhile goes together in the next one, the apps in turn. */
const LANE = { lane: '', group: '' };

/** Tasks that wait for a batch; what the runner holds, and those whose quota came at the same moment. */
const LENGTH = 1_000;

/** What a batch has not done: it is to be done by itself. */
type Alone = 'alone';

export interface BatchesOptions {
  readonly db: Database;
  /** A connection each for the batches alone, so that none of them stands behind what waits. */
  readonly batches: { readonly begins: Database; readonly ends: Database };
  readonly onError: (error: unknown) => void;
}

/**
 * Enters tasks into the store, and their ends, in batches (group commit); nobody is answered before its batch has been
 * committed. What a batch leaves, it has not touched: then the statement for one task says what it is, outside the line,
 * since it may wait for rows that somebody holds. After a batch whose reply was lost it finds what the batch has done.
 */
export class Batches {
  readonly #db: Database;
  readonly #acceptances: Lanes<Acceptance, Accepted | Alone>;
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
            // Where the store cannot now, nobody waits for the same again.
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
        // It was never begun, and a batch that hangs must not turn away everybody.
        late: 'alone',
      });
    this.#acceptances = lanes((batch) => acceptTasks(batches.begins, batch));
    this.#ends = lanes((batch) => endTasks(batches.ends, batch));
  }

  /** As acceptTask. */
  async accept(session: Session, task: Accepting): Promise<Accepted> {
    const accepted = await this.#acceptances.add({ ...LANE, app: session.authority.appId }, { session, task });
    return accepted === 'alone' ? acceptTask(this.#db, session, task) : accepted;
  }

  /** As endTask. */
  async end(authority: Authority, id: string, end: RunEnd): Promise<TaskRow | undefined> {
    const row = await this.#ends.add({ ...LANE, app: authority.appId }, { authority, id, end });
    return row === 'alone' ? endTask(this.#db, authority, id, end) : row;
  }
}
