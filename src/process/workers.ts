import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Refused } from '../cli/output.ts';
import { watchParents } from './parent.ts';

/**
 * How long (ms) to wait before replacing a worker that ended unexpectedly. Without it, a worker that always fails would
 * take all processor time.
 */
const BEFORE_ANOTHER = 1_000;

export const isWorker = (): boolean => cluster.isWorker;

/** Milliseconds in which npm can repeat a signal that the terminal has already sent. */
const REPEATED = 1_000;

/**
 * Returns a signal that SIGTERM, SIGINT and SIGHUP abort. A closed terminal sends SIGHUP. In a worker, the signal is
 * also aborted when the supervisor disappears. In any other process, the end of a waiting parent aborts the signal too.
 *
 * A second signal ends the process at once. A worker ignores a second SIGTERM or SIGHUP.
 */
export function stopSignal(npm: boolean): AbortSignal {
  const stop = new AbortController();
  let since = Number.POSITIVE_INFINITY;
  const begin = (signal?: NodeJS.Signals): void => {
    since = Math.min(since, performance.now());
    stop.abort(signal);
  };
  const end = (signal: NodeJS.Signals): void => {
    if (!stop.signal.aborted) {
      begin(signal);
      return;
    }
    // A worker gets a signal twice: from the supervisor, and from the service manager or terminal, which signals the
    // whole group.
    if (cluster.isWorker && signal !== 'SIGINT') return;
    if (npm && performance.now() - since < REPEATED) return;
    process.off(signal, end);
    process.kill(process.pid, signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  if (cluster.isWorker) process.once('disconnect', () => begin());
  else watchParents(npm, begin);
  return stop.signal;
}

export const aborted = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await once(signal, 'abort');
};

/**
 * Closes the channel to the supervisor, which would keep the process alive. After SIGHUP, ends by this signal, because
 * a normal exit of Node 20 aborts if the terminal has closed.
 */
export function leave(stop: AbortSignal): void {
  if (cluster.isWorker && process.connected) process.disconnect();
  if (stop.reason !== 'SIGHUP') return;
  process.removeAllListeners('SIGHUP');
  process.kill(process.pid, 'SIGHUP');
}

export interface Supervision {
  readonly count: number;
  readonly env: Readonly<Record<string, string>>;
  readonly stop: AbortSignal;
  readonly log: Logger;
  readonly onReady: () => void;
  /**
   * Called for each new worker with its slot, 1 to `count`. A replacement gets the slot of the worker that has ended.
   */
  readonly onWorker: (worker: Worker, place: number) => void;
}

/**
 * Runs this command line in `count` processes that share one port (node:cluster). Replaces a worker that ends
 * unexpectedly. Resolves when all have ended after `stop`. Rejects if one ends before all listen.
 */
export async function superviseWorkers({ count, env, stop, log, onReady, onWorker }: Supervision): Promise<void> {
  const living = new Set<Worker>();
  const start = (place: number): Worker => {
    const worker = cluster.fork(env);
    living.add(worker);
    worker.once('exit', () => living.delete(worker));
    onWorker(worker, place);
    return worker;
  };
  const endAll = async (): Promise<void> => {
    await Promise.all([...living].map((worker) => ended(worker, () => worker.process.kill('SIGTERM'))));
  };
  const keep = (worker: Worker, place: number): void => {
    worker.once('exit', async (code, signal) => {
      if (stop.aborted) return;
      log.error({ worker: worker.process.pid, code, signal }, 'a worker ended and is replaced');
      await pause(BEFORE_ANOTHER, undefined, { ref: false });
      if (!stop.aborted) keep(start(place), place);
    });
  };
  const first = Array.from({ length: count }, (_, i) => start(i + 1));
  const listening = first.map((worker, i) =>
    Promise.race([
      once(worker, 'listening').then(() => keep(worker, i + 1)),
      once(worker, 'exit').then(() => {
        if (!stop.aborted) throw new Refused('A worker could not start. The lines before this one say why.');
      }),
    ]),
  );
  try {
    await Promise.all(listening);
  } catch (error) {
    await endAll();
    throw error;
  }
  if (!stop.aborted) onReady();
  await aborted(stop);
  await endAll();
}

async function ended(worker: Worker, end: () => void): Promise<void> {
  const exit = once(worker, 'exit');
  end();
  await exit;
}
