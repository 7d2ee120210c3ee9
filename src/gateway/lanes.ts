import { Failure } from '../core/failures.ts';

export interface LanesOptions<Item, Result> {
  /**
   * Does the items of one lane in the slot of that number, which nobody else has meanwhile. Answers in order; an Error is that item's alone.
   */
  readonly run: (items: readonly Item[], slot: number) => Promise<readonly (Result | Error)[]>;
  /** Slots: runs at the same time. */
  readonly slots: number;
  /** Items of one run at most; BATCH where absent. */
  readonly batch?: number;
  /** Items that wait in one lane; LENGTH where absent. */
  readonly length?: number;
  /** Milliseconds that an item waits while its lane has no turn; three times as long while it has. */
  readonly patience: number;
  /** What an item gets that had no turn in time, in place of a 503. */
  readonly late?: Result;
}

/** Where an item stands in line: a lane runs one batch at a time, and a group of lanes not all that there are. */
export interface Place {
  readonly lane: string;
  readonly group: string;
}

export const BATCH = 8;
export const LENGTH = 256;
const LOOKS = 3;
/**
 * Milliseconds for which a run has the store to itself, so that the next one gathers more and finds its connection warm.
 * One that waits for rows or for a slow disk is not waited for. How much it gains has not been measured by itself.
 */
const PROMPT = 3;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
  /** Turns that the lane had ended when this one was last looked at, and how often it was. */
  seen: number;
  looks: number;
  timer: NodeJS.Timeout | undefined;
}

interface Lane<Item, Result> {
  readonly group: string;
  readonly waiting: Waiting<Item, Result>[];
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
  add({ lane: name, group }: Place, item: Item): Promise<Result> {
    const lane = this.#lanes.get(name) ?? { group, waiting: [], busy: false, turns: 0 };
    if (lane.waiting.length >= (this.#options.length ?? LENGTH)) return Promise.reject(turnedAway());
    this.#lanes.set(name, lane);
    return new Promise((resolve, reject) => {
      const waiting: Waiting<Item, Result> = { item, resolve, reject, seen: lane.turns, looks: 0, timer: undefined };
      const look = (): void => {
        waiting.looks++;
        // A lane that moves is only busy, or this process is; one that does not may be locked out.
        if (waiting.seen !== lane.turns && waiting.looks < LOOKS) {
          waiting.seen = lane.turns;
          wait();
          return;
        }
        lane.waiting.splice(lane.waiting.indexOf(waiting), 1);
        this.#forget(name, lane);
        if (this.#options.late === undefined) reject(turnedAway());
        else resolve(this.#options.late);
      };
      // An answer that lies in the socket of a busy process is read before the time is called up.
      const wait = (): void => {
        waiting.timer = setTimeout(
          () => setImmediate(() => lane.waiting.includes(waiting) && look()),
          this.#options.patience,
        );
      };
      wait();
      lane.waiting.push(waiting);
      this.#next();
    });
  }

  #next(): void {
    for (const [name, lane] of this.#lanes) {
      const slot = this.#prompt === undefined ? this.#free[0] : undefined;
      if (slot === undefined) return;
      const ofGroup = this.#groups.get(lane.group) ?? 0;
      // One website whose rows somebody holds must not take every connection.
      if (lane.busy || lane.waiting.length === 0 || ofGroup >= Math.max(1, this.#options.slots / 2)) continue;
      this.#lanes.delete(name);
      this.#lanes.set(name, lane);
      this.#free.shift();
      lane.busy = true;
      this.#groups.set(lane.group, ofGroup + 1);
      const prompt = setTimeout(() => this.#over(prompt), PROMPT);
      this.#prompt = prompt;
      void this.#run(take(lane, this.#options.batch ?? BATCH), slot).then(() => {
        lane.busy = false;
        lane.turns++;
        this.#free.push(slot);
        this.#free.sort((a, b) => a - b);
        const left = (this.#groups.get(lane.group) ?? 1) - 1;
        if (left > 0) this.#groups.set(lane.group, left);
        else this.#groups.delete(lane.group);
        this.#forget(name, lane);
        clearTimeout(prompt);
        this.#over(prompt);
      });
    }
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

  #forget(name: string, lane: Lane<Item, Result>): void {
    if (!lane.busy && lane.waiting.length === 0) this.#lanes.delete(name);
  }
}

/** The first of a lane, in their order. */
function take<Item, Result>(lane: Lane<Item, Result>, most: number): Waiting<Item, Result>[] {
  const taken = lane.waiting.splice(0, most);
  for (const { timer } of taken) clearTimeout(timer);
  return taken;
}

const turnedAway = (): Failure => new Failure('service_unavailable', { retryAfter: 1 });
