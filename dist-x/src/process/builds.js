import { PeriodicJob } from '../flow/periodic-job.js';
/** Milliseconds between two searches for indexes to build. */
const EVERY = 30_000;
/**
 * Builds the missing indexes while the gateway serves. `stop` resolves with true if a build still runs: then the
 * process must exit.
 */
export function buildInBackground(store, log, stop) {
    let left = false;
    const builds = new PeriodicJob({
        every: EVERY,
        run: async (ended) => {
            left = !(await store.build(ended));
        },
        onError: (error) => log.warn({ err: error }, 'building an index failed; it is tried again'),
    });
    builds.wake();
    stop.addEventListener('abort', () => void builds.stop(), { once: true });
    return { stop: () => builds.stop().then(() => left) };
}
//# sourceMappingURL=builds.js.map