import { Failure } from '../core/failures.ts';
import { Line } from '../core/line.ts';

export interface LanesOptions<Item, Result> {
  /**
   * Does the items of one lane in the slot of that number, which nobody else has meanwhile. Answers in order; an Error is that item's alone.
   */
  readonly run: (items: readonly Item[], slot: number) => Promise<readonly (Result | Error)[]>;
  /** Slots: runs at the same time. */
  readonly slots: number;
  /** Items of one run at most; BATCH where absent. */
  readonly batch?: number;
  /** Items of one app that wait in one lane; LENGTH where absent. */
  readonly length?: number;
  /** Milliseconds that an item waits while its lane has no turn; three times as long while it has. */
  readonly patience: number;
  /** What an item gets that had no turn in time, in place of a 503. */
  readonly late?: Result;
}

/**
 * Where an item stands in line: a lane runs one batch at a time, a group of lanes has half of the slots, and an app all but
 * one. Apps have their turns one after the other, however many lanes one of them fills.
 */
export interface Place {
  readonly lane: string;
  readonly group: string;
  readonly app: string;
}

export const BATCH = 8;
export const LENGTH = 256;
/** Lanes that one app can fill. */
const FULL_LANES = 4;
const LOOKS = 3;
/**
 * Milliseconds for which a run has the store to itself, so that the next one gathers more and finds its connection warm.
 * One that waits for rows or for a slow disk is not waited for. How much it gains has not been measured by itself.
 */
const PROMPT = 3;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly app: App;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
  /** Turns that the lane had ended when this one was last looked at, and how often it was. */
  seen: number;
  looks: number;
  timer: NodeJS.Timeout | undefined;
}

/** An app that has something to do here. */
interface App {
  readonly name: string;
  waiting: number;
  /** Runs that had its turn. */
  running: number;
}

interface Lane<Item, Result> {
  readonly name: string;
  readonly group: string;
  readonly waiting: Line<Waiting<Item, Result>>;
  busy: boolean;
  /** Runs that have ended. */
  turns: number;
}

/**
 * Group commit: what comes into a lane while its batch is under way waits, and goes together in the next one. Nobody waits
 * for company, and nobody is answered before the run that did its item. Bounded in length, in time and in what runs at
 * once; who is turned away was never begun.
 */
export class Lanes<Item, Result> {
  readonly #options: LanesOptions<Item, Result>;
  /** Only those with something to do; who has had a turn goes to the end. */
  readonly #lanes = new Map<string, Lane<Item, Result>>();
  /** The same of apps. */
  readonly #apps: App[] = [];
  readonly #groups = new Map<string, number>();
  /** Ascending: the lowest are used most, and their connections know the statements best. */
  readonly #free: number[];
  /** Of the run that has begun last, while it is prompt. */
  #prompt: NodeJS.Timeout | undefined;

  constructor(options: LanesOptions<Item, Result>) {
    this.#options = options;
    this.#free = Array.from({ length: options.slots }, (_, i) => i);
  }

  /** Resolves with what the item's run answers; rejects with its Error, or with 503 where it had no turn in time (`late`). */
  add({ lane: name, group, app: appName }: Place, item: Item): Promise<Result> {
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
        // A lane that moves is only busy, or this process is; one that does not may be locked out.
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
      // An answer that lies in the socket of a busy process is read before the time is called up.
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

  /** The app whose turn it is, and one of its lanes that can run. */
  #turn(): { readonly app: App; readonly lane: Lane<Item, Result> } | undefined {
    // One app, or one website whose rows somebody holds, must not take every connection.
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

  /** The run is done, or no longer prompt. */
  #over(prompt: NodeJS.Timeout): void {
    if (this.#prompt === prompt) this.#prompt = undefined;
    this.#next();
  }

  /** Never rejects. */
  async #run(batch: readonly Waiting<Item, Result>[], slot: number): Promise<void> {
    let results: readonly (Result | Error)[] = [];
    let failed = new Error('a batch was not answered');
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
    const at = this.#apps.indexOf(app); // who rode in another's batch may have gone before
    if (at >= 0 && app.waiting === 0 && app.running === 0) this.#apps.splice(at, 1);
  }
}

const turnedAway = (): Failure => new Failure('service_unavailable', { retryAfter: 1 });
