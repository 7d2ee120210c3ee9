import { networkOf } from './network.ts';
import { keepNewest } from './newest.ts';

export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

export class TokenBucket {
  readonly #rate: Rate;
  #left: number;
  #at = performance.now();

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#left = rate.burst;
  }

  /** Seconds until one unit can be taken from the bucket. 0 means that a unit can be taken now. */
  wait(): number {
    const left = this.#refill();
    return left >= 1 ? 0 : Math.max(1, Math.ceil(((1 - left) * 60) / this.#rate.perMinute));
  }

  take(): void {
    this.#left = Math.max(0, this.#refill() - 1);
  }

  /** Takes one unit. False if there was none. */
  spend(): boolean {
    const may = this.wait() === 0;
    this.take();
    return may;
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
 * Limits attempts, separately for each network or name. The latest 10,000 names are counted, so a caller who can
 * invent names can make the limit forget one. Each replica counts in its own memory. Separate counts are enough,
 * because nobody can guess a secret of 256 bits. The limit only saves work.
 */
export class RateLimit {
  readonly #rate: Rate;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  wait(source: string): number {
    return this.#buckets.get(networkOf(source))?.wait() ?? 0;
  }

  failed(source: string): void {
    const network = networkOf(source);
    const bucket = this.#buckets.get(network) ?? new TokenBucket(this.#rate);
    bucket.take();
    keepNewest(this.#buckets, network, bucket, SOURCES);
  }

  /**
   * Subtracts one failure. A caller counts an attempt as a failure before it knows the outcome. If the attempt did not
   * fail, the caller corrects the count with this function.
   */
  succeeded(source: string): void {
    this.#buckets.get(networkOf(source))?.giveBack();
  }
}

const SOURCES = 10_000;
