export interface RoundsOptions {
  /** Does the work of one round. The signal `stop` is aborted when no more rounds will run. */
  readonly round: (stop: AbortSignal) => Promise<unknown>;
  /** Milliseconds between two ticks of the timer. If `every` is absent, a round runs only after a call of `wake`. */
  readonly every?: number;
  /** Receives the error that a round throws. Later rounds still run. */
  readonly onError: (error: unknown) => void;
}

/**
 * Runs rounds of work, one at a time. The timer starts a round only while no round runs, so a hanging round builds no
 * queue. All calls of `wake` during a round share the next round. The timer does not keep the process alive.
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

  /** Starts a round now. If a round is running, the next round starts after it. */
  wake(): void {
    this.#due = true;
    this.#running ??= this.#run();
  }

  /** Stops the timer. A running round continues, and `wake` still starts a round. */
  pause(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  resume(): void {
    const { every } = this.#options;
    if (every === undefined || this.#stop.signal.aborted) return;
    this.#timer ??= setInterval(() => this.#running ?? this.wake(), every).unref();
  }

  /** Starts no more rounds. Waits for the running round to end. */
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
