export interface PeriodicJobOptions {
  /** Does the work once. The signal `stop` is aborted when no more run will start. */
  readonly run: (stop: AbortSignal) => Promise<unknown>;
  /** Milliseconds between two runs. Without `every`, only `wake` starts a run. */
  readonly every?: number;
  readonly onError: (error: unknown) => void;
}

/**
 * Runs work again and again, one run at a time. If a run has not ended when the timer fires, the timer starts nothing.
 * If `wake` is called during a run, one more run follows. Several calls of `wake` during a run also cause only one more
 * run. The timer does not keep the process alive.
 */
export class PeriodicJob {
  readonly #options: PeriodicJobOptions;
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #later: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #due = false;

  constructor(options: PeriodicJobOptions) {
    this.#options = options;
    this.resume();
  }

  /** Starts a run now, or immediately after the run that has not ended. */
  wake(): void {
    this.#due = true;
    this.#running ??= this.#run();
  }

  /** Starts a run after some milliseconds. A later call replaces an earlier one. */
  wakeIn(milliseconds: number): void {
    clearTimeout(this.#later);
    if (!this.#stop.signal.aborted) this.#later = setTimeout(() => this.wake(), milliseconds).unref();
  }

  /** Stops the timer. `wake` still starts runs. */
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
    clearTimeout(this.#later);
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#due && !this.#stop.signal.aborted) {
      this.#due = false;
      try {
        await this.#options.run(this.#stop.signal);
      } catch (error) {
        this.#options.onError(error);
      }
    }
    this.#running = undefined;
  }
}
