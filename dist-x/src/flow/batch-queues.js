import { Failure } from '../core/failures.js';
import { FairQueue } from './fair-queue.js';
export const BATCH = 8;
export const LENGTH = 256;
/**
 * The limit for the waiting items of one app in all queues together: this number, multiplied by the limit for one queue.
 * At this limit, the next item of the app is refused.
 */
const FULL_QUEUES = 4;
/**
 * How many waiting times an item can have. The item gets another waiting time only if a batch of its queue has ended
 * since the last check.
 */
const LOOKS = 3;
/**
 * The longest pause in milliseconds between the starts of two batches, so that more items join the next batch. The
 * pause ends early when the first batch ends. It has a limit, because the first batch can wait for rows or a slow disk.
 * For notes on eight websites, the ratio to the bench's peer is 0.62 with the pause and 0.54 without it. Measured by
 * two interleaved runs each of `npm run bench -- --only notes` (22 November 2026).
 */
const PROMPT = 3;
/**
 * Runs items in batches (group commit). While a batch of a queue runs, new items of the queue wait and form the next
 * batch. If no batch of the queue runs, an item does not wait for more items. Queue length, waiting time and the number
 * of concurrent batches have limits. A refused item was never started.
 */
export class BatchQueues {
    #options;
    /** Queues with work, in the order of their turns. A queue moves to the end when its batch starts. */
    #queues = new Map();
    #apps = [];
    #groups = new Map();
    /** Free slots, lowest number first. The connections of low slots have the most prepared statements. */
    #free;
    /** While this timer is set, no batch starts. It was set by the batch that started last. */
    #prompt;
    #gathering = false;
    constructor(options) {
        this.#options = options;
        this.#free = Array.from({ length: options.slots }, (_, i) => i);
    }
    /**
     * Resolves with the result of the item, or rejects with the item's Error. If the item waits too long, the promise
     * resolves with `late`. Without `late`, the promise then rejects with 503.
     */
    add({ queue: name, group, app: appName }, item) {
        const length = this.#options.length ?? LENGTH;
        const app = this.#app(appName);
        const queue = this.#queues.get(name) ?? { name, group, waiting: new FairQueue(), busy: false, turns: 0 };
        if (queue.waiting.of(appName) >= length || app.waiting >= length * FULL_QUEUES)
            return Promise.reject(turnedAway());
        this.#queues.set(name, queue);
        return new Promise((resolve, reject) => {
            const waiting = {
                item,
                app,
                resolve,
                reject,
                seen: queue.turns,
                looks: 0,
                timer: undefined,
            };
            const look = () => {
                waiting.looks++;
                // If a batch of the queue has ended since the last check, the queue is only busy, so wait again. Otherwise the
                // queue is probably waiting for a lock, so give up.
                if (waiting.seen !== queue.turns && waiting.looks < LOOKS) {
                    waiting.seen = queue.turns;
                    wait();
                    return;
                }
                queue.waiting.remove(appName, waiting);
                app.waiting--;
                this.#forget(queue, app);
                if (this.#options.late === undefined)
                    reject(turnedAway());
                else
                    resolve(this.#options.late);
            };
            // When the timer fires late, the database's answer can already be in the socket. setImmediate lets the process
            // read the answer first.
            const wait = () => {
                waiting.timer = setTimeout(() => setImmediate(() => waiting.timer && look()), this.#options.patience);
            };
            wait();
            queue.waiting.add(appName, waiting);
            app.waiting++;
            if (this.#options.gathers === true)
                this.#gather();
            else
                this.#next();
        });
    }
    #gather() {
        if (this.#gathering)
            return;
        this.#gathering = true;
        setImmediate(() => {
            this.#gathering = false;
            this.#next();
        });
    }
    #app(name) {
        const known = this.#apps.find((one) => one.name === name);
        if (known)
            return known;
        const app = { name, waiting: 0, running: 0 };
        this.#apps.push(app);
        return app;
    }
    #next() {
        for (;;) {
            const slot = this.#prompt === undefined ? this.#free[0] : undefined;
            const turn = slot === undefined ? undefined : this.#turn();
            if (slot === undefined || turn === undefined)
                return;
            this.#begin(turn.app, turn.queue, slot);
        }
    }
    #turn() {
        // One app must not take every connection. One website with locked rows must not take every connection either.
        const { slots } = this.#options;
        for (const app of this.#apps) {
            if (app.waiting === 0 || app.running >= Math.max(1, slots - 1))
                continue;
            for (const queue of this.#queues.values()) {
                const ofGroup = this.#groups.get(queue.group) ?? 0;
                if (!queue.busy && ofGroup < Math.max(1, slots / 2) && queue.waiting.of(app.name) > 0)
                    return { app, queue };
            }
        }
        return undefined;
    }
    #begin(app, queue, slot) {
        this.#queues.delete(queue.name);
        this.#queues.set(queue.name, queue);
        this.#apps.splice(this.#apps.indexOf(app), 1);
        this.#apps.push(app);
        this.#free.shift();
        queue.busy = true;
        app.running++;
        this.#groups.set(queue.group, (this.#groups.get(queue.group) ?? 0) + 1);
        const prompt = setTimeout(() => this.#over(prompt), PROMPT);
        this.#prompt = prompt;
        const batch = queue.waiting.take(this.#options.batch ?? BATCH, app.name);
        for (const waiting of batch) {
            clearTimeout(waiting.timer);
            waiting.timer = undefined;
            waiting.app.waiting--;
        }
        void this.#run(batch, slot).then(() => {
            queue.busy = false;
            queue.turns++;
            app.running--;
            this.#free.push(slot);
            this.#free.sort((a, b) => a - b);
            const left = (this.#groups.get(queue.group) ?? 1) - 1;
            if (left > 0)
                this.#groups.set(queue.group, left);
            else
                this.#groups.delete(queue.group);
            for (const one of new Set([app, ...batch.map((waiting) => waiting.app)]))
                this.#forget(queue, one);
            clearTimeout(prompt);
            this.#over(prompt);
        });
    }
    /** Lets the next batch start: the last batch has ended, or PROMPT milliseconds have passed. */
    #over(prompt) {
        if (this.#prompt === prompt)
            this.#prompt = undefined;
        this.#next();
    }
    /** Never rejects. */
    async #run(batch, slot) {
        let results = [];
        let failed = new Error('a run returned fewer results than items: it must return one for each');
        try {
            results = await this.#options.run(batch.map(({ item }) => item), slot);
        }
        catch (error) {
            failed = error instanceof Error ? error : new Error(String(error));
        }
        batch.forEach(({ resolve, reject }, i) => {
            const result = results[i] ?? failed;
            if (result instanceof Error)
                reject(result);
            else
                resolve(result);
        });
    }
    #forget(queue, app) {
        if (!queue.busy && queue.waiting.empty)
            this.#queues.delete(queue.name);
        const at = this.#apps.indexOf(app); // `at` is -1 if the app was already removed
        if (at >= 0 && app.waiting === 0 && app.running === 0)
            this.#apps.splice(at, 1);
    }
}
const turnedAway = () => new Failure('service_unavailable', { retryAfter: 1 });
//# sourceMappingURL=batch-queues.js.map