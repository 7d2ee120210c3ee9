/** Frames, pings and pongs: the largest burst, and the rate per second (WS-04). */
const BURST = 100;
const RATE = 20;

/** Limits the rate of a client's frames by a token bucket. */
export class Allowance {
  #left = BURST;
  #at = performance.now();

  /** Takes one token. Returns whether there was one. */
  spend(): boolean {
    const now = performance.now();
    this.#left = Math.min(BURST, this.#left + ((now - this.#at) / 1000) * RATE) - 1;
    this.#at = now;
    return this.#left >= 0;
  }
}
