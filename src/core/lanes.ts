import { Failure } from './failures.ts';
import { Line } from './line.ts';

export interface LanesOptions<Item, Result> {
  /**
   * Runs a batch of items from one lane. No two batches run in the same slot at the same time. Returns one result for
   * each item, in the same order. If a result is an Error, only the item of this result fails.
   */
  readonly run: (items: readonly Item[], slot: number) => Promise<readonly (Result | Error)[]>;
  /** The largest number of batches that run at the same time. */
  readonly slots: number;
  /** The largest number of items in a batch. The default is BATCH. */
  readonly batch?: number;
  /** The largest number of items of one app that can wait in one lane. The default is LENGTH. */
  readonly length?: number;
  /**
   * Milliseconds that an item waits. If batches of the lane end meanwhile, the item waits up to three times as long.
   */
  readonly patience: number;
  /** The result of an item that has waited too long. Without `late`, such an item fails with 503. */
  readonly late?: Result;
}

/**
 * The place where an item waits. A lane is a queue that runs one batch at a time. All lanes of a group together use at
 * most half of the slots. All lanes of an app together leave at least one slot free, if there are several slots. Apps
 * take turns, so an app with many lanes gets no extra turns.
 */
export interface LaneKey {
  readonly lane: string;
  readonly group: string;
  readonly app: string;
}

export const BATCH = 8;
export const LENGTH = 256;
/**
 * The limit for the waiting items of one app in all lanes together: this number, multiplied by the limit for one lane.
 * At this limit, the next item of the app is refused.
 */
const FULL_LANES = 4;
/**
 * How many waiting times an item can have. The item gets another waiting time only if a batch of its lane has ended
 * since the last check.
 */
const LOOKS = 3;
/**
 * The longest pause in milliseconds between the starts of two batches. The pause is shorter if the first batch ends
 * earlier. During the pause, more items join the next batch. The pause is limited, because the first batch can wait for
 * rows or for a slow disk. Without the pause, notes on eight websites reach 0.54 of the bench's peer, with the pause
 * 0.62 (two interleaved runs each of `npm run bench -- --only notes`, 22 November 2026).
 */
const PROMPT = 3;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly app: App;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
  /** The value of the lane's `turns` when the item last checked for progress. `looks` is the number of these checks. */
  seen: number;
  looks: number;
  timer: NodeJS.Timeout | undefined;
}

interface App {
  readonly name: string;
  waiting: number;
  /** Number of running batches that were started for this app. */
  running: number;
}

interface Lane<Item, Result> {
  readonly name: string;
  readonly group: string;
  readonly waiting: Line<Waiting<Item, Result>>;
  busy: boolean;
  /** Number of batches of this lane that have ended. */
  turns: number;
}

/**
 * Runs items in batches (group commit). While a batch of a lane runs, new items of the lane wait and form the next
 * batch. If no batch of the lane runs, an item does not wait for more items. Queue length, waiting time and the number
 * of concurrent batches have limits. A refused item was never started.
 */
export class Lanes<Item, Result> {
  readonly #options: LanesOptions<Item, Result>;
  /** Lanes with work, in the order of their turns. A lane moves to the end when its batch starts. */
  readonly #lanes = new Map<string, Lane<Item, Result>>();
  readonly #apps: App[] = [];
  readonly #groups = new Map<string, number>();
  /** Free slots, lowest number first. The connections of low slots have the most prepared statements. */
  readonly #free: number[];
  /** While this timer is set, no batch starts. The timer belongs to the batch that started last. */
  #prompt: NodeJS.Timeout | undefined;

  constructor(options: LanesOptions<Item, Result>) {
    this.#options = options;
    this.#free = Array.from({ length: options.slots }, (_, i) => i);
  }

  /**
   * Resolves with the result of the item, or rejects with the item's Error. If the item waits too long, the promise
   * resolves with `late`. Without `late`, the promise then rejects with 503.
   */
  add({ lane: name, group, app: appName }: LaneKey, item: Item): Promise<Result> {
    const length = this.#options.length ?? LENGTH;
    const app = this.#app(appName);
    const lane = this.#lanes.get(name) ?? { name, group, waiting: new Line(), busy: false, turns: 0 };
    if (lane.waiting.of(appName) >= length || app.waiting >= length * FULL_LANES) return Promise.reject(turnedAway());
    this.#lanes.set(name, lane);
    return new Promise((resolve, reject) => {
      const waiting: Waiting<Item, Result> = {
        item,
        app,
        resolve,
        reject,
        seen: lane.turns,
        looks: 0,
        timer: undefined,
      };
      const look = (): void => {
        waiting.looks++;
        // If a batch of the lane has ended since the last check, the lane is only busy, so wait again. Otherwise the
        // lane is probably waiting for a lock, so give up.
        if (waiting.seen !== lane.turns && waiting.looks < LOOKS) {
          waiting.seen = lane.turns;
          wait();
          return;
        }
        lane.waiting.remove(appName, waiting);
        app.waiting--;
        this.#forget(lane, app);
        if (this.#options.late === undefined) reject(turnedAway());
        else resolve(this.#options.late);
      };
      // When the timer fires late, an answer from the database can already be in the socket. setImmediate lets the
      // process read this answer first.
      const wait = (): void => {
        waiting.timer = setTimeout(() => setImmediate(() => waiting.timer && look()), this.#options.patience);
      };
      wait();
      lane.waiting.add(appName, waiting);
      app.waiting++;
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
      this.#begin(turn.app, turn.lane, slot);
    }
  }

  #turn(): { readonly app: App; readonly lane: Lane<Item, Result> } | undefined {
    // One app must not take every connection. One website with locked rows must not take every connection either.
    const { slots } = this.#options;
    for (const app of this.#apps) {
      if (app.waiting === 0 || app.running >= Math.max(1, slots - 1)) continue;
      for (const lane of this.#lanes.values()) {
        const ofGroup = this.#groups.get(lane.group) ?? 0;
        if (!lane.busy && ofGroup < Math.max(1, slots / 2) && lane.waiting.of(app.name) > 0) return { app, lane };
      }
    }
    return undefined;
  }

  #begin(app: App, lane: Lane<Item, Result>, slot: number): void {
    this.#lanes.delete(lane.name);
    this.#lanes.set(lane.name, lane);
    this.#apps.splice(this.#apps.indexOf(app), 1);
    this.#apps.push(app);
    this.#free.shift();
    lane.busy = true;
    app.running++;
    this.#groups.set(lane.group, (this.#groups.get(lane.group) ?? 0) + 1);
    const prompt = setTimeout(() => this.#over(prompt), PROMPT);
    this.#prompt = prompt;
    const batch = lane.waiting.take(this.#options.batch ?? BATCH, app.name);
    for (const waiting of batch) {
      clearTimeout(waiting.timer);
      waiting.timer = undefined;
      waiting.app.waiting--;
    }
    void this.#run(batch, slot).then(() => {
      lane.busy = false;
      lane.turns++;
      app.running--;
      this.#free.push(slot);
      this.#free.sort((a, b) => a - b);
      const left = (this.#groups.get(lane.group) ?? 1) - 1;
      if (left > 0) this.#groups.set(lane.group, left);
      else this.#groups.delete(lane.group);
      for (const one of new Set([app, ...batch.map((waiting) => waiting.app)])) this.#forget(lane, one);
      clearTimeout(prompt);
      this.#over(prompt);
    });
  }

  /** Lets the next batch start. This method runs when the last batch has ended or PROMPT milliseconds have passed. */
  #over(prompt: NodeJS.Timeout): void {
    if (this.#prompt === prompt) this.#prompt = undefined;
    this.#next();
  }

  /** This function never rejects. */
  async #run(batch: readonly Waiting<Item, Result>[], slot: number): Promise<void> {
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

  #forget(lane: Lane<Item, Result>, app: App): void {
    if (!lane.busy && lane.waiting.empty) this.#lanes.delete(lane.name);
    const at = this.#apps.indexOf(app); // `at` is -1 if the app was already removed
    if (at >= 0 && app.waiting === 0 && app.running === 0) this.#apps.splice(at, 1);
  }
}

const turnedAway = (): Failure => new Failure('service_unavailable', { retryAfter: 1 });
