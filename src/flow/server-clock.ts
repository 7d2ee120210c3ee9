/** The clock of a server, as far as its answers tell. */
export class ServerClock {
  #offset: number;

  /** `offset`: the server's time in Unix milliseconds minus performance.now(), as it is taken to be at first. */
  constructor(offset: number) {
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  get now(): number {
    return performance.now() + this.#offset;
  }

  /**
   * The server's clock said `began` after `sent`, and `ended` before this moment. Keeps the offset if all of this can
   * be true. So one fast answer is enough to know the age of what a slow one brings.
   */
  learn(sent: number, began: number, ended = began): void {
    this.#offset = Math.min(began - sent, Math.max(ended - performance.now(), this.#offset));
  }
}
