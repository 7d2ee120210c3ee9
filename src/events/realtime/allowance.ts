/** Frames, pings and pongs at once, and a second on end (checks, WS-04). */
const BURST = 100;
const RATE = 20;

/** How much a client may send: a token bucket. */
export class Allowance {
  #left = BURST;
  #at = performance.now();

  /** One frame, ping or pong; whether it was allowed. */
  spend(): boolean {
    const now = performance.now();
    this.#left = Math.min(BURST, this.#left + ((now - this.#at) / 1000) * RATE) - 1;
    this.#at = now;
    return this.#left >= 0;
  }
}
