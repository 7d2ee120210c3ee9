export interface RoundsOptions {
  /** The work of one round. `stop` is aborted when no further round will run. */
  readonly round: (stop: AbortSignal) => Promise<unknown>;
  /** Milliseconds between two ticks. Absent: a round runs only after `wake`. */
  readonly every?: number;
  /** Receives what a round throws. The next rounds run all the same. */
  readonly onError: (error: unknown) => void;
}

/**
 * Runs rounds of work, one at a time. The timer starts a round only while none runs, so a hanging round queues nothing.
 * All calls of `wake` during a round share the round after it. The timer does not keep the process alive.
 */
export class Rounds {
  readonly #options: RoundsOptions;
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #due = false;

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.resume();
  }

  /** Starts a round now, or after the round that runs. */
  wake(): void {
    this.#due = true;
    this.#running ??= this.#run();
  }

  /** Stops the timer. A round that runs goes on, and `wake` still starts one. */
  pause(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  resume(): void {
    const { every } = this.#options;
    if (every === undefined || this.#stop.signal.aborted) return;
    this.#timer ??= setInterval(() => this.#running ?? this.wake(), every).unref();
  }

  /** Ends the rounds, and waits for the round that runs. */
  async stop(): Promise<void> {
    this.pause();
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#due && !this.#stop.signal.aborted) {
      this.#due = false;
      try {
        await this.#options.round(this.#stop.signal);
      } catch (error) {
        this.#options.onError(error);
      }
    }
    this.#running = undefined;
  }
}
