import { networkOf } from './network.ts';

export interface Rate {
  readonly perMinute: number;
  /** At once. */
  readonly burst: number;
}

/** A budget in memory of this process. */
export class Bucket {
  readonly #rate: Rate;
  #left: number;
  #at = performance.now();

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#left = rate.burst;
  }

  /** Seconds until there is something to take; 0: now. */
  wait(): number {
    const left = this.#refill();
    return left >= 1 ? 0 : Math.max(1, Math.ceil(((1 - left) * 60) / this.#rate.perMinute));
  }

  take(): void {
    this.#left = Math.max(0, this.#refill() - 1);
  }

  giveBack(): void {
    this.#left = Math.min(this.#rate.burst, this.#refill() + 1);
  }

  #refill(): number {
    const now = performance.now();
    this.#left = Math.min(this.#rate.burst, this.#left + ((now - this.#at) / 60_000) * this.#rate.perMinute);
    this.#at = now;
    return this.#left;
  }
}

/**
 * Failed attempts by network (decisions, section 21: 60 a minute on /oauth/token), or by a name that the store has
 * confirmed: never by what a caller makes up. In memory of this replica: it bounds work, while secrets of 256 bits need no
 * lock-out.
 */
export class Throttle {
  readonly #rate: Rate;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Seconds until the next attempt may fail; 0: now. */
  wait(source: string): number {
    return this.#buckets.get(networkOf(source))?.wait() ?? 0;
  }

  failed(source: string): void {
    const network = networkOf(source);
    const bucket = this.#buckets.get(network) ?? new Bucket(this.#rate);
    bucket.take();
    this.#buckets.delete(network);
    this.#buckets.set(network, bucket);
    // The network that failed longest ago is the first to be forgotten.
    if (this.#buckets.size > SOURCES) this.#buckets.delete(this.#buckets.keys().next().value ?? '');
  }

  /** Takes back what was counted as failed before its outcome was known. */
  succeeded(source: string): void {
    this.#buckets.get(networkOf(source))?.giveBack();
  }
}

const SOURCES = 10_000;
