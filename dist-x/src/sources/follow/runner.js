import { randomUUID } from 'node:crypto';
import { PeriodicJob } from '../../flow/periodic-job.js';
import { LoadStopped } from './spent.js';
import { failed, isLost, release, renew, stopped, takeSource } from './state.js';
/** Milliseconds between two searches for sources that no process runs. */
const EVERY = 1_000;
/** Milliseconds between two renewals of a lease. */
const BEAT = 3_000;
/** How many sources one process runs at the same time. */
export const MOST = 8;
/**
 * Runs live sources. All replicas call this, and each source is run by the one process that holds its lease. When that
 * process dies, another one takes over.
 */
export function startSources(options) {
    const { db, onError } = options;
    const holder = randomUUID();
    const stopping = new AbortController();
    const running = new Set();
    const job = new PeriodicJob({
        every: EVERY,
        run: async () => {
            while (running.size < MOST && !stopping.signal.aborted) {
                const row = await takeSource(db, holder);
                if (row === undefined)
                    return;
                const one = runSource(options, row, stopping.signal).finally(() => running.delete(one));
                running.add(one);
            }
        },
        onError: (error) => onError(error, undefined),
    });
    job.wake();
    return {
        stop: async () => {
            stopping.abort();
            await job.stop();
            await Promise.all(running);
        },
    };
}
/** Runs a source whose lease this process has taken, until the signal aborts or the source fails. */
export async function runSource(options, row, stop) {
    const { db, open, explain, onError } = options;
    const lost = new AbortController();
    const signal = AbortSignal.any([stop, lost.signal]);
    // If a renewal fails, the lease can still be valid. The next statement of the source shows this.
    const beat = setInterval(() => {
        renew(db, row).then((mine) => mine || lost.abort(), () => undefined);
    }, BEAT).unref();
    const end = (error, ended) => {
        if (ended)
            return release(db, row);
        return error instanceof LoadStopped ? stopped(db, row, error.message) : failed(db, row, explain(error));
    };
    let source;
    try {
        source = open(row);
        // Loaded here, because only some processes follow a source.
        const { follow } = await import('./follow.js');
        await follow(options, { ...row, digest: await options.digest?.() }, source, signal);
        await release(db, row);
    }
    catch (error) {
        const ended = signal.aborted || isLost(error);
        if (!ended)
            onError(error, row.id);
        // If the store cannot be reached, the lease expires by itself.
        await end(error, ended).catch((also) => onError(also, row.id));
    }
    finally {
        clearInterval(beat);
        await source?.close().catch((error) => onError(error, row.id));
    }
}
//# sourceMappingURL=runner.js.map