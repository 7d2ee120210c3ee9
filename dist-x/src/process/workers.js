import cluster, {} from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Refused } from '../cli/output.js';
import { watchParents } from './parent.js';
/**
 * How long (ms) to wait before replacing a worker that ended unexpectedly. Without it, a worker that always fails would
 * take all processor time.
 */
const BEFORE_ANOTHER = 1_000;
export const isWorker = () => cluster.isWorker;
/** Milliseconds in which npm can repeat a signal that the terminal has already sent. */
const REPEATED = 1_000;
/**
 * Returns a signal that SIGTERM, SIGINT and SIGHUP abort. A closed terminal sends SIGHUP. In a worker, the signal is
 * also aborted when the supervisor disappears. In any other process, the end of a waiting parent aborts the signal too.
 *
 * A second signal ends the process at once. A worker ignores a second SIGTERM or SIGHUP.
 */
export function stopSignal(npm) {
    const stop = new AbortController();
    let since = Number.POSITIVE_INFINITY;
    const begin = (signal) => {
        since = Math.min(since, performance.now());
        stop.abort(signal);
    };
    const end = (signal) => {
        if (!stop.signal.aborted) {
            begin(signal);
            return;
        }
        // A worker gets a signal twice: from the supervisor, and from the service manager or terminal, which signals the
        // whole group.
        if (cluster.isWorker && signal !== 'SIGINT')
            return;
        if (npm && performance.now() - since < REPEATED)
            return;
        process.off(signal, end);
        process.kill(process.pid, signal);
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
        process.on(signal, end);
    if (cluster.isWorker)
        process.once('disconnect', () => begin());
    else
        watchParents(npm, begin);
    return stop.signal;
}
export const aborted = async (signal) => {
    if (!signal.aborted)
        await once(signal, 'abort');
};
/**
 * Closes the channel to the supervisor, which would keep the process alive. After SIGHUP, ends by this signal, because
 * a normal exit of Node 20 aborts if the terminal has closed.
 */
export function leave(stop) {
    if (cluster.isWorker && process.connected)
        process.disconnect();
    if (stop.reason !== 'SIGHUP')
        return;
    process.removeAllListeners('SIGHUP');
    process.kill(process.pid, 'SIGHUP');
}
/**
 * Runs this command line in `count` processes that share one port (node:cluster). Replaces a worker that ends
 * unexpectedly. Resolves when all have ended after `stop`. Rejects if one ends before all listen.
 */
export async function superviseWorkers({ count, env, stop, log, onReady, onWorker }) {
    const living = new Set();
    const start = (place) => {
        const worker = cluster.fork(env);
        living.add(worker);
        worker.once('exit', () => living.delete(worker));
        onWorker(worker, place);
        return worker;
    };
    const endAll = async () => {
        await Promise.all([...living].map((worker) => ended(worker, () => worker.process.kill('SIGTERM'))));
    };
    const keep = (worker, place) => {
        worker.once('exit', async (code, signal) => {
            if (stop.aborted)
                return;
            log.error({ worker: worker.process.pid, code, signal }, 'a worker ended and is replaced');
            await pause(BEFORE_ANOTHER, undefined, { ref: false });
            if (!stop.aborted)
                keep(start(place), place);
        });
    };
    const first = Array.from({ length: count }, (_, i) => start(i + 1));
    const listening = first.map((worker, i) => Promise.race([
        once(worker, 'listening').then(() => keep(worker, i + 1)),
        once(worker, 'exit').then(() => {
            if (!stop.aborted)
                throw new Refused('A worker could not start. The lines before this one say why.');
        }),
    ]));
    try {
        await Promise.all(listening);
    }
    catch (error) {
        await endAll();
        throw error;
    }
    if (!stop.aborted)
        onReady();
    await aborted(stop);
    await endAll();
}
async function ended(worker, end) {
    const exit = once(worker, 'exit');
    end();
    await exit;
}
//# sourceMappingURL=workers.js.map