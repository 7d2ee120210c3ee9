import { randomUUID } from 'node:crypto';
import { Rounds } from '../../core/rounds.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { Source } from '../source.ts';
import { follow } from './follow.ts';
import { type Bounds, LoadStopped } from './spent.ts';
import { failed, isLost, release, renew, type SourceRow, stopped, takeSource } from './state.ts';

export interface SourcesOptions {
  /** For leases and states. These statements must not wait for a page. */
  readonly db: Database;
  /** For pages and loads. */
  readonly writer: Database;
  /** Opens the helpdesk of a stored source. Throws if its address cannot be decrypted. */
  readonly open: (row: SourceRow) => Source;
  /** The message for the operator. It must hold no secret. */
  readonly explain: (error: unknown) => string;
  readonly onError: (error: unknown, source: string | undefined) => void;
  /** Milliseconds between two checks of a source that is followed. Default: one minute. */
  readonly checkEvery?: number | undefined;
  /** Milliseconds after which a load yields to others that wait. Default: ten seconds. */
  readonly turn?: number | undefined;
  /** How long a load may take. Default: BOUNDS. */
  readonly bounds?: Bounds | undefined;
}

/** Milliseconds between two searches for sources that nobody runs. */
const EVERY = 1_000;
/** Milliseconds between two renewals of a lease. */
const BEAT = 3_000;
/** The number of sources that one process runs at the same time. */
export const MOST = 8;

/**
 * Runs live sources. Every replica does this. A source is run by one process, which holds its lease. When that process
 * dies, another one takes the source over.
 */
export function startSources(options: SourcesOptions): { stop(): Promise<void> } {
  const { db, onError } = options;
  const holder = randomUUID();
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const rounds = new Rounds({
    every: EVERY,
    round: async () => {
      while (running.size < MOST && !stopping.signal.aborted) {
        const row = await takeSource(db, holder);
        if (row === undefined) return;
        const one = runSource(options, row, stopping.signal).finally(() => running.delete(one));
        running.add(one);
      }
    },
    onError: (error) => onError(error, undefined),
  });
  rounds.wake();
  return {
    stop: async () => {
      stopping.abort();
      await rounds.stop();
      await Promise.all(running);
    },
  };
}

/** Runs a source whose lease this process has taken, until the signal or until it fails. */
export async function runSource(options: SourcesOptions, row: SourceRow, stop: AbortSignal): Promise<void> {
  const { db, writer, checkEvery, turn, bounds, open, explain, onError } = options;
  const lost = new AbortController();
  const signal = AbortSignal.any([stop, lost.signal]);
  // If a renewal fails, the lease may still be good. The next statement of the source finds out.
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
    await follow({ db, writer, checkEvery, turn, bounds }, row, source, signal);
    await release(db, row);
  } catch (error) {
    const ended = signal.aborted || isLost(error);
    if (!ended) onError(error, row.id);
    // If the store cannot be reached, the lease expires by itself.
    await end(error, ended).catch((also: unknown) => onError(also, row.id));
  } finally {
    clearInterval(beat);
    await source?.close().catch((error: unknown) => onError(error, row.id));
  }
}
