export interface RoundsOptions {
  /** Does the work of one round. The signal `stop` is aborted when no more rounds will run. */
  readonly round: (stop: AbortSignal) => Promise<unknown>;
  /** Milliseconds between two rounds. Without `every`, only `wake` starts a round. */
  readonly every?: number;
  readonly onError: (error: unknown) => void;
}

/**
 * Runs rounds of work, one at a time. If a round is still running when the timer fires, the timer starts nothing. If
 * `wake` is called during a round, one more round follows. Several calls of `wake` during a round also cause only one
 * more round. The timer does not keep the process alive.
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

  /** Starts a round now, or immediately after the running round. */
  wake(): void {
    this.#due = true;
    this.#running ??= this.#run();
  }

  /** Stops the timer. `wake` still starts rounds. */
  pause(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  resume(): void {
    const { every } = this.#options;
    if (every === undefined || this.#stop.signal.aborted) return;
    this.#timer ??= setInterval(() => this.#running ?? this.wake(), every).unref();
  }

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
