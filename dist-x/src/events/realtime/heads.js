import { PeriodicJob } from '../../flow/periodic-job.js';
import { grownHeads } from '../../store/events/realtime-sessions.js';
const CHANNEL = 'gateway_journal';
/**
 * Milliseconds between the two reads after a notification. A journal sends at most one notification in 25 ms for each
 * website. The second read finds receipts that came later in these 25 ms.
 */
const AGAIN = 30;
const UNKNOWN = -1;
/**
 * Follows the heads (last positions) of all journals that this process streams. One statement reads all heads, after
 * each notification and every `every` milliseconds, because a notification can get lost. Without watchers, the
 * statement does not run.
 */
export class Heads {
    #options;
    #watched = new Map();
    #job;
    #again;
    #listening;
    constructor(options) {
        this.#options = options;
        const { every, onError } = options;
        this.#job = new PeriodicJob({ every, run: () => this.#look(), onError });
        this.#job.pause();
    }
    /** Calls `watcher` with each website's head, now and after each change. Returns a function that ends the watch. */
    watch(websites, watcher) {
        for (const key of websites) {
            const entry = this.#watched.get(key.id) ?? { key, position: UNKNOWN, watchers: new Set() };
            entry.position = UNKNOWN;
            entry.watchers.add(watcher);
            this.#watched.set(key.id, entry);
        }
        this.#job.resume();
        this.#listening ??= this.#options.db.listen(CHANNEL, (payload) => this.#told(payload));
        return () => {
            for (const { id } of websites) {
                const entry = this.#watched.get(id);
                entry?.watchers.delete(watcher);
                if (entry?.watchers.size === 0)
                    this.#watched.delete(id);
            }
            if (this.#watched.size === 0)
                this.#pause();
        };
    }
    async stop() {
        this.#pause();
        await this.#job.stop();
        await this.#listening?.close();
    }
    #pause() {
        this.#job.pause();
        clearTimeout(this.#again);
        this.#again = undefined;
    }
    /** The payload is '<tenant> <site>', or empty when listening starts again after a lost connection. */
    #told(payload) {
        if (payload !== '' && !this.#watched.has(`web_${payload.replace(' ', '_')}`))
            return;
        this.#job.wake();
        this.#again ??= setTimeout(() => {
            this.#again = undefined;
            this.#job.wake();
        }, AGAIN).unref();
    }
    async #look() {
        if (this.#watched.size === 0)
            return;
        const known = [...this.#watched.values()].map(({ key, position }) => ({ ...key, position }));
        for (const { tenant, site, position } of await grownHeads(this.#options.db, known)) {
            const entry = this.#watched.get(`web_${tenant}_${site}`);
            if (!entry)
                continue;
            entry.position = position;
            for (const watcher of [...entry.watchers])
                watcher(entry.key.id, position);
        }
    }
}
//# sourceMappingURL=heads.js.map