/**
 * The limits for the frames of one client (WS-04). Pings and pongs count as frames. A client can send BURST frames at
 * once. Over a longer time, the client can send RATE frames per second.
 */
const BURST = 100;
const RATE = 20;

export class Allowance {
  #left = BURST;
  #at = performance.now();

  /** Takes one token from the client's token bucket. Returns false if the bucket is empty. */
  spend(): boolean {
    const now = performance.now();
    this.#left = Math.min(BURST, this.#left + ((now - this.#at) / 1000) * RATE) - 1;
    this.#at = now;
    return this.#left >= 0;
  }
}
