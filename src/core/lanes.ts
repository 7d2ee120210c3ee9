import { Failure } from './failures.ts';
import { Line } from './line.ts';

export interface LanesOptions<Item, Result> {
  /**
   * Runs items of one lane in a slot. No other run uses the slot at the same time. Returns results in the order of the
   * items. An Error in the results fails only its own item.
   */
  readonly run: (items: readonly Item[], slot: number) => Promise<readonly (Result | Error)[]>;
  /** Number of slots. Each slot runs at most one batch at a time. */
  readonly slots: number;
  /** Largest number of items in one run. Default: BATCH. */
  readonly batch?: number;
  /** Largest number of items of one app that can wait in one lane. Default: LENGTH. */
  readonly length?: number;
  /**
   * Milliseconds that an item waits in a lane without progress. An item waits up to three times as long in a lane with
   * progress.
   */
  readonly patience: number;
  /** The result of an item that waited too long. If `late` is absent, such an item fails with 503. */
  readonly late?: Result;
}

/**
 * Says in which queue an item waits. A lane runs one batch at a time. A group of lanes uses at most half of the slots.
 * An app uses at most all slots except one. Apps take turns, so an app that fills more lanes gets no extra turns.
 */
export interface LaneKey {
  readonly lane: string;
  readonly group: string;
  readonly app: string;
}

export const BATCH = 8;
export const LENGTH = 256;
/** The waiting items of one app can fill at most this many lanes. */
const FULL_LANES = 4;
/** The waiting time of an item can end this many times while its lane makes progress. Then the item leaves the lane. */
const LOOKS = 3;
/**
 * A new run has the store to itself for this many milliseconds. The next run then gathers more items and finds a warm
 * connection. After this time, the first run is perhaps waiting for rows or a slow disk, so the next run starts. The
 * gain is not measured.
 */
const PROMPT = 3;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly app: App;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
  /** Number of ended runs of the lane when the lane last checked this item. `looks` counts these checks. */
  seen: number;
  looks: number;
  timer: NodeJS.Timeout | undefined;
}

/** An app with waiting or running items. */
interface App {
  readonly name: string;
  waiting: number;
  /** Number of running batches that started in a turn of this app. */
  running: number;
}

interface Lane<Item, Result> {
  readonly name: string;
  readonly group: string;
  readonly waiting: Line<Waiting<Item, Result>>;
  busy: boolean;
  /** Number of ended runs of this lane. */
  turns: number;
}

/**
 * Group commit: items that arrive while a batch of their lane runs wait for the next batch and run together. A lane
 * with a waiting item never waits for more items. Every item gets its answer after its run. Queue length, waiting time
 * and the number of concurrent runs are limited. A rejected item was never started.
 */
export class Lanes<Item, Result> {
  readonly #options: LanesOptions<Item, Result>;
  /** Lanes with work, in the order of their turns. A lane moves to the end of the order when its turn starts. */
  readonly #lanes = new Map<string, Lane<Item, Result>>();
  /** Apps with waiting or running items, in the order of their turns. */
  readonly #apps: App[] = [];
  readonly #groups = new Map<string, number>();
  /** Free slots, lowest number first. Low slots are used most, so their connections have most statements prepared. */
  readonly #free: number[];
  /** Timer of the latest run. While the timer is set, no other run starts. */
  #prompt: NodeJS.Timeout | undefined;

  constructor(options: LanesOptions<Item, Result>) {
    this.#options = options;
    this.#free = Array.from({ length: options.slots }, (_, i) => i);
  }

  /**
   * Resolves with the result of the item. Rejects if the run returned an Error for the item. An item that waited too
   * long resolves with `late`, or rejects with 503 without `late`.
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
        // If the lane has ended a run since the last look, the lane or this process is only busy, so wait again.
        // Otherwise the lane is perhaps waiting for a lock, so give up.
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
      // setImmediate lets a busy process first read an answer that is already in the socket.
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

  /** Returns the next app, and one lane of this app that can run. */
  #turn(): { readonly app: App; readonly lane: Lane<Item, Result> } | undefined {
    // Limit apps and groups. One app must not take every connection. One website with locked rows must not take every
    // connection either.
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

  /** Allows the next run to start, when the latest run has ended or PROMPT milliseconds have passed. */
  #over(prompt: NodeJS.Timeout): void {
    if (this.#prompt === prompt) this.#prompt = undefined;
    this.#next();
  }

  /** Runs one batch and settles the promise of each item. This function never rejects. */
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
    const at = this.#apps.indexOf(app); // -1: the app was removed earlier; its item ran in another app's batch
    if (at >= 0 && app.waiting === 0 && app.running === 0) this.#apps.splice(at, 1);
  }
}

const turnedAway = (): Failure => new Failure('service_unavailable', { retryAfter: 1 });
