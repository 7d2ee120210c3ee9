import { pauseUpTo } from '../flow/pause.js';
import { asFailure, Caller } from '../gateway/call.js';
import { StaleAuthority } from '../store/calls/guard.js';
import { readTask } from '../store/tasks/tasks.js';
import { isOpen, viewOf } from './view.js';
/** Milliseconds between two attempts to read a task while the store does not answer. */
const AGAIN = 250;
/** The streams of one process, each of which follows one task. */
export class Follow {
    #db;
    #corridor;
    #watch;
    #size = 0;
    constructor(options) {
        this.#db = options.db;
        this.#corridor = options.corridor;
        this.#watch = options.watch;
    }
    get size() {
        return this.#size;
    }
    /**
     * Gives the task each time that its state is another one than before, on any replica, until the task has ended, waits
     * for input or expires. Each task is read under the authority of that moment. Throws a 401 when there is none.
     */
    async *follow({ bearer, from, signal }, first) {
        let last = first;
        this.#size++;
        try {
            while (isOpen(last.state)) {
                await this.#changed(last, signal);
                if (signal.aborted || this.#watch.stopped)
                    return;
                const next = await this.#read(bearer, from, last.id);
                if (next === 'later')
                    await pauseUpTo(AGAIN, [], signal);
                else if (!next)
                    return;
                else if (next.state !== last.state) {
                    last = next;
                    yield next;
                }
            }
        }
        finally {
            this.#size--;
        }
    }
    /** Waits without a timer, because a process can have a thousand streams. */
    async #changed({ id, state }, signal) {
        const watched = this.#watch.watch(id, state);
        let wake = () => undefined;
        const woken = new Promise((resolve) => {
            wake = resolve;
        });
        signal.addEventListener('abort', wake, { once: true });
        if (signal.aborted)
            wake();
        void watched.changed.then(wake);
        await woken;
        watched.leave();
        signal.removeEventListener('abort', wake);
    }
    async #read(bearer, from, id) {
        try {
            const authority = await this.#corridor.prove(bearer, 'a2a', from);
            const row = await new Caller(authority).take(readTask({ db: this.#db, authority }, id));
            return row && viewOf(row, authority);
        }
        catch (error) {
            if (error instanceof StaleAuthority)
                return 'later';
            const failure = asFailure(error);
            if (failure.status !== 503)
                throw failure;
            return 'later';
        }
    }
}
//# sourceMappingURL=follow.js.map