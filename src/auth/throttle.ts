import { networkOf } from './network.ts';

/**
 * Failed attempts by address: `burst` at once, then `perMinute` (decisions, section 21: 60 a minute on /oauth/token). In
 * memory of this replica: it bounds work, while secrets of 256 bits need no lock-out. Nothing valid counts, so nobody can
 * use it up for another address.
 */
export class Throttle {
  readonly #perMinute: number;
  readonly #burst: number;
  readonly #buckets = new Map<string, { left: number; at: number }>();

  constructor({ perMinute, burst }: { perMinute: number; burst: number }) {
    this.#perMinute = perMinute;
    this.#burst = burst;
  }

  /** Seconds until the address may fail again; 0: now. */
  wait(source: string): number {
    const left = this.#left(networkOf(source));
    return left >= 1 ? 0 : Math.max(1, Math.ceil(((1 - left) * 60) / this.#perMinute));
  }

  failed(source: string): void {
    const network = networkOf(source);
    const left = this.#left(network);
    this.#buckets.delete(network);
    this.#buckets.set(network, { left: Math.max(0, left - 1), at: performance.now() });
    // The address that failed longest ago is the first to be forgotten.
    if (this.#buckets.size > SOURCES) this.#buckets.delete(this.#buckets.keys().next().value ?? '');
  }

  #left(network: string): number {
    const bucket = this.#buckets.get(network);
    if (!bucket) return this.#burst;
    return Math.min(this.#burst, bucket.left + ((performance.now() - bucket.at) / 60_000) * this.#perMinute);
  }
}

const SOURCES = 10_000;
