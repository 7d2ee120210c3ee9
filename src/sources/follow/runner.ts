import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { PeriodicJob } from '../../flow/periodic-job.ts';
import { isUnavailable } from '../../store/driver/errors.ts';
import type { PersonDigest } from '../engine/digests.ts';
import type { Source } from '../source.ts';
import type { Stores } from './follow.ts';
import { LoadStopped } from './spent.ts';
import { failed, isLost, release, renew, type SourceRow, stopped, takeSource } from './state.ts';

export interface SourcesOptions extends Stores {
  /** Opens the helpdesk of a stored source. Throws if its address cannot be decrypted. */
  readonly open: (row: SourceRow) => Source;
  /** Finds the records of erased people (src/privacy/digests.ts). */
  readonly digest?: () => Promise<PersonDigest | undefined>;
  /** The message for the operator. It must not contain a secret. */
  readonly explain: (error: unknown) => string;
  readonly onError: (error: unknown, source: string | undefined) => void;
}

/** Milliseconds between two searches for sources that no process runs. */
const EVERY = 1_000;
/** Milliseconds between two renewals of a lease. */
const BEAT = 3_000;
/** Milliseconds between two attempts to give back a lease, and for all of them. Later, the lease has ended by itself. */
const AGAIN = 500;
const GIVE_BACK = 10_000;
/** How many sources one process runs at the same time. */
export const MOST = 8;

/**
 * Runs live sources. All replicas call this, and each source is run by the one process that holds its lease. When that
 * process dies, another one takes over.
 */
export function startSources(options: SourcesOptions): { stop(): Promise<void> } {
  const { db, onError } = options;
  const holder = randomUUID();
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const job = new PeriodicJob({
    every: EVERY,
    run: async () => {
      while (running.size < MOST && !stopping.signal.aborted) {
        const row = await takeSource(db, holder);
        if (row === undefined) return;
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

/** Most sources fail because the store is away. It can be back before the lease would expire by itself. */
async function untilReached(write: () => Promise<void>, stop: AbortSignal): Promise<void> {
  for (const end = performance.now() + GIVE_BACK; ; ) {
    try {
      return await write();
    } catch (error) {
      if (performance.now() > end || stop.aborted || !isUnavailable(error)) throw error;
    }
    // If the process is told to end, the pause ends, and one attempt follows.
    await pause(AGAIN, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** Runs a source whose lease this process has taken, until the signal aborts or the source fails. */
export async function runSource(options: SourcesOptions, row: SourceRow, stop: AbortSignal): Promise<void> {
  const { db, open, explain, onError } = options;
  const lost = new AbortController();
  const signal = AbortSignal.any([stop, lost.signal]);
  // If a renewal fails, the lease can still be valid. The next statement of the source shows this.
  const beat = setInterval(() => {
    renew(db, row).then(
      (mine) => mine || lost.abort(),
      () => undefined,
    );
  }, BEAT).unref();
  const end = (error: unknown, ended: boolean): Promise<void> => {
    if (ended) return release(db, row);
    return error instanceof LoadStopped ? stopped(db, row, error.message) : failed(db, row, explain(error));
  };
  let source: Source | undefined;
  try {
    source = open(row);
    // Loaded here, because only some processes follow a source.
    const { follow } = await import('./follow.ts');
    await follow(options, { ...row, digest: await options.digest?.() }, source, signal);
    await release(db, row);
  } catch (error) {
    const ended = signal.aborted || isLost(error);
    if (!ended) onError(error, row.id);
    clearInterval(beat);
    await untilReached(() => end(error, ended), stop).catch((also: unknown) => onError(also, row.id));
  } finally {
    clearInterval(beat);
    await source?.close().catch((error: unknown) => onError(error, row.id));
  }
}
