import { Failure } from '../core/failures.ts';
import { FairQueue } from './fair-queue.ts';

export interface BatchQueuesOptions<Item, Result> {
  /**
   * Runs a batch of items from one queue. No two batches run in the same slot at the same time. Returns one result for
   * each item, in the same order. If a result is an Error, only the item of this result fails.
   */
  readonly run: (items: readonly Item[], slot: number) => Promise<readonly (Result | Error)[]>;
  /** How many batches can run at the same time. */
  readonly slots: number;
  /** How many items a batch can have. The default is BATCH. */
  readonly batch?: number;
  /** The largest number of items of one app that can wait in one queue. The default is LENGTH. */
  readonly length?: number;
  /**
   * Milliseconds that an item waits. If batches of the queue end meanwhile, the item waits up to three times as long.
   */
  readonly patience: number;
  /** The result of an item that has waited too long. Without `late`, the item fails with 503. */
  readonly late?: Result;
  /** True if a batch starts only when all sockets of this turn of the event loop are read, so that more items join. */
  readonly gathers?: boolean;
}

/**
 * The place where an item waits. A batch queue runs one batch at a time. All queues of a group together use at most half
 * of the slots. All queues of an app together leave at least one slot free, if there are several slots. Apps take turns,
 * so an app with many queues gets no extra turns.
 */
export interface BatchQueueKey {
  readonly queue: string;
  readonly group: string;
  readonly app: string;
}

export const BATCH = 8;
export const LENGTH = 256;
/**
 * The limit for the waiting items of one app in all queues together: this number, multiplied by the limit for one queue.
 * At this limit, the next item of the app is refused.
 */
const FULL_QUEUES = 4;
/**
 * How many waiting times an item can have. The item gets another waiting time only if a batch of its queue has ended
 * since the last check.
 */
const LOOKS = 3;
/**
 * The longest pause in milliseconds between the starts of two batches, so that more items join the next batch. The
 * pause ends early when the first batch ends. It has a limit, because the first batch can wait for rows or a slow disk.
 * For notes on eight websites, the ratio to the bench's peer is 0.62 with the pause and 0.54 without it. Measured by
 * two interleaved runs each of `npm run bench -- --only notes` (22 November 2026).
 */
const PROMPT = 3;

interface QueuedItem<Item, Result> {
  readonly item: Item;
  readonly app: App;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
  /** The value of the queue's `turns` when the item last checked for progress. `looks` is the number of these checks. */
  seen: number;
  looks: number;
  timer: NodeJS.Timeout | undefined;
}

interface App {
  readonly name: string;
  waiting: number;
  running: number;
}

interface BatchQueue<Item, Result> {
  readonly name: string;
  readonly group: string;
  readonly waiting: FairQueue<QueuedItem<Item, Result>>;
  busy: boolean;
  /** Number of batches of this queue that have ended. */
  turns: number;
}

/**
 * Runs items in batches (group commit). While a batch of a queue runs, new items of the queue wait and form the next
 * batch. If no batch of the queue runs, an item does not wait for more items. Queue length, waiting time and the number
 * of concurrent batches have limits. A refused item was never started.
 */
export class BatchQueues<Item, Result> {
  readonly #options: BatchQueuesOptions<Item, Result>;
  /** Queues with work, in the order of their turns. A queue moves to the end when its batch starts. */
  readonly #queues = new Map<string, BatchQueue<Item, Result>>();
  readonly #apps: App[] = [];
  readonly #groups = new Map<string, number>();
  /** Free slots, lowest number first. The connections of low slots have the most prepared statements. */
  readonly #free: number[];
  /** While this timer is set, no batch starts. It was set by the batch that started last. */
  #prompt: NodeJS.Timeout | undefined;
  #gathering = false;

  constructor(options: BatchQueuesOptions<Item, Result>) {
    this.#options = options;
    this.#free = Array.from({ length: options.slots }, (_, i) => i);
  }

  /**
   * Resolves with the result of the item, or rejects with the item's Error. If the item waits too long, the promise
   * resolves with `late`. Without `late`, the promise then rejects with 503.
   */
  add({ queue: name, group, app: appName }: BatchQueueKey, item: Item): Promise<Result> {
    const length = this.#options.length ?? LENGTH;
    const app = this.#app(appName);
    const queue = this.#queues.get(name) ?? { name, group, waiting: new FairQueue(), busy: false, turns: 0 };
    if (queue.waiting.of(appName) >= length || app.waiting >= length * FULL_QUEUES) return Promise.reject(turnedAway());
    this.#queues.set(name, queue);
    return new Promise((resolve, reject) => {
      const waiting: QueuedItem<Item, Result> = {
        item,
        app,
        resolve,
        reject,
        seen: queue.turns,
        looks: 0,
        timer: undefined,
      };
      const look = (): void => {
        waiting.looks++;
        // If a batch of the queue has ended since the last check, the queue is only busy, so wait again. Otherwise the
        // queue is probably waiting for a lock, so give up.
        if (waiting.seen !== queue.turns && waiting.looks < LOOKS) {
          waiting.seen = queue.turns;
          wait();
          return;
        }
        queue.waiting.remove(appName, waiting);
        app.waiting--;
        this.#forget(queue, app);
        if (this.#options.late === undefined) reject(turnedAway());
        else resolve(this.#options.late);
      };
      // When the timer fires late, the database's answer can already be in the socket. setImmediate lets the process
      // read the answer first.
      const wait = (): void => {
        waiting.timer = setTimeout(() => setImmediate(() => waiting.timer && look()), this.#options.patience);
      };
      wait();
      queue.waiting.add(appName, waiting);
      app.waiting++;
      if (this.#options.gathers === true) this.#gather();
      else this.#next();
    });
  }

  #gather(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    setImmediate(() => {
      this.#gathering = false;
      this.#next();
    });
  }

  #app(name: string): App {
    const known = this.#apps.find((one) => one.name === name);
    if (known) return known;
    const app = { name, waiting: 0, running: 0 };
    this.#apps.push(app);
    return app;
  }

  #next(): void {
    for (;;) {
      const slot = this.#prompt === undefined ? this.#free[0] : undefined;
      const turn = slot === undefined ? undefined : this.#turn();
      if (slot === undefined || turn === undefined) return;
      this.#begin(turn.app, turn.queue, slot);
    }
  }

  #turn(): { readonly app: App; readonly queue: BatchQueue<Item, Result> } | undefined {
    // One app must not take every connection. One website with locked rows must not take every connection either.
    const { slots } = this.#options;
    for (const app of this.#apps) {
      if (app.waiting === 0 || app.running >= Math.max(1, slots - 1)) continue;
      for (const queue of this.#queues.values()) {
        const ofGroup = this.#groups.get(queue.group) ?? 0;
        if (!queue.busy && ofGroup < Math.max(1, slots / 2) && queue.waiting.of(app.name) > 0) return { app, queue };
      }
    }
    return undefined;
  }

  #begin(app: App, queue: BatchQueue<Item, Result>, slot: number): void {
    this.#queues.delete(queue.name);
    this.#queues.set(queue.name, queue);
    this.#apps.splice(this.#apps.indexOf(app), 1);
    this.#apps.push(app);
    this.#free.shift();
    queue.busy = true;
    app.running++;
    this.#groups.set(queue.group, (this.#groups.get(queue.group) ?? 0) + 1);
    const prompt = setTimeout(() => this.#over(prompt), PROMPT);
    this.#prompt = prompt;
    const batch = queue.waiting.take(this.#options.batch ?? BATCH, app.name);
    for (const waiting of batch) {
      clearTimeout(waiting.timer);
      waiting.timer = undefined;
      waiting.app.waiting--;
    }
    void this.#run(batch, slot).then(() => {
      queue.busy = false;
      queue.turns++;
      app.running--;
      this.#free.push(slot);
      this.#free.sort((a, b) => a - b);
      const left = (this.#groups.get(queue.group) ?? 1) - 1;
      if (left > 0) this.#groups.set(queue.group, left);
      else this.#groups.delete(queue.group);
      for (const one of new Set([app, ...batch.map((waiting) => waiting.app)])) this.#forget(queue, one);
      clearTimeout(prompt);
      this.#over(prompt);
    });
  }

  /** Lets the next batch start: the last batch has ended, or PROMPT milliseconds have passed. */
  #over(prompt: NodeJS.Timeout): void {
    if (this.#prompt === prompt) this.#prompt = undefined;
    this.#next();
  }

  /** Never rejects. */
  async #run(batch: readonly QueuedItem<Item, Result>[], slot: number): Promise<void> {
    let results: readonly (Result | Error)[] = [];
    let failed = new Error('a run returned fewer results than items: it must return one for each');
    try {
      results = await this.#options.run(
        batch.map(({ item }) => item),
        slot,
      );
    } catch (error) {
      failed = error instanceof Error ? error : new Error(String(error));
    }
    batch.forEach(({ resolve, reject }, i) => {
      const result = results[i] ?? failed;
      if (result instanceof Error) reject(result);
      else resolve(result);
    });
  }

  #forget(queue: BatchQueue<Item, Result>, app: App): void {
    if (!queue.busy && queue.waiting.empty) this.#queues.delete(queue.name);
    const at = this.#apps.indexOf(app); // `at` is -1 if the app was already removed
    if (at >= 0 && app.waiting === 0 && app.running === 0) this.#apps.splice(at, 1);
  }
}

const turnedAway = (): Failure => new Failure('service_unavailable', { retryAfter: 1 });
