import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Refused } from '../cli/output.ts';

/** Milliseconds before a worker that ended by itself is replaced: one that cannot live does not take the machine. */
const BEFORE_ANOTHER = 1_000;

/** Whether this process is a worker of `gateway serve --workers`. */
export const isWorker = (): boolean => cluster.isWorker;

/**
 * Aborted by SIGTERM and SIGINT, in a worker also by the end of the process that supervises it. A second one ends the
 * process there and then, but for SIGTERM in a worker.
 */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  process.once('SIGINT', end);
  if (cluster.isWorker) {
    // A service manager signals every process of its group, and the supervisor signals once more.
    process.on('SIGTERM', end);
    process.once('disconnect', end);
  } else process.once('SIGTERM', end);
  return stop.signal;
}

export const aborted = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await once(signal, 'abort');
};

/** A worker's channel to its supervisor would keep it alive. */
export function leave(): void {
  if (cluster.isWorker && process.connected) process.disconnect();
}

export interface Supervision {
  readonly count: number;
  /** What all workers have in common beside this process's environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly stop: AbortSignal;
  readonly log: Logger;
  /** All of them listen. */
  readonly onReady: () => void;
  /** A worker begins, in a place of 1 to `count` that is its own; the one that replaces it takes it over. */
  readonly onWorker: (worker: Worker, place: number) => void;
}

/**
 * Runs this same command line in `count` processes that share one listening port (node:cluster), replaces those that end
 * by themselves, and resolves when all have ended after `stop`. Rejects where one ends before all of them listen.
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
        if (!stop.aborted) throw new Refused('A worker could not start.');
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
