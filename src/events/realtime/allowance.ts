/** Limits for the frames, pings and pongs of one client (WS-04): the largest burst, and the rate per second. */
const BURST = 100;
const RATE = 20;

/** A token bucket that limits the rate of a client's frames. */
export class Allowance {
  #left = BURST;
  #at = performance.now();

  /** Takes one token. Returns false if the bucket was empty. */
  spend(): boolean {
    const now = performance.now();
    this.#left = Math.min(BURST, this.#left + ((now - this.#at) / 1000) * RATE) - 1;
    this.#at = now;
    return this.#left >= 0;
  }
}
