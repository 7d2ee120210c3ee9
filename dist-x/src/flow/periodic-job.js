/**
 * Runs work again and again, one run at a time. If a run has not ended when the timer fires, the timer starts nothing.
 * If `wake` is called during a run, one more run follows. Several calls of `wake` during a run also cause only one more
 * run. The timer does not keep the process alive.
 */
export class PeriodicJob {
    #options;
    #stop = new AbortController();
    #timer;
    #running;
    #due = false;
    constructor(options) {
        this.#options = options;
        this.resume();
    }
    /** Starts a run now, or immediately after the run that has not ended. */
    wake() {
        this.#due = true;
        this.#running ??= this.#run();
    }
    /** Stops the timer. `wake` still starts runs. */
    pause() {
        clearInterval(this.#timer);
        this.#timer = undefined;
    }
    resume() {
        const { every } = this.#options;
        if (every === undefined || this.#stop.signal.aborted)
            return;
        this.#timer ??= setInterval(() => this.#running ?? this.wake(), every).unref();
    }
    async stop() {
        this.pause();
        this.#stop.abort();
        await this.#running;
    }
    async #run() {
        while (this.#due && !this.#stop.signal.aborted) {
            this.#due = false;
            try {
                await this.#options.run(this.#stop.signal);
            }
            catch (error) {
                this.#options.onError(error);
            }
        }
        this.#running = undefined;
    }
}
//# sourceMappingURL=periodic-job.js.map