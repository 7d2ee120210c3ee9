import { Worker } from 'node:worker_threads';
import type { Keyring } from '../../auth/keys.ts';
import { packageRoot } from '../../config/package.ts';
import { SourceRefused } from '../follow/explain.ts';
import { type StoredSource, settingsOf } from '../follow/open.ts';
import type { SourceKind, SourceSettings } from '../kinds.ts';
import type { Source } from '../source.ts';
import { type Call, newMemory, type Opening, Pulse, type Reply, received } from './protocol.ts';

/** Milliseconds between two looks at the pulse, and the looks without a beat after which a reader is ended. */
const LOOK = 1_000;
const SILENT = 15;
/** Milliseconds for one call. A page can need several statements, and each may take a minute. */
const DEADLINE = 600_000;
/** Milliseconds in which a reader may close its connections. */
const CLOSING = 5_000;
/** MiB of the memory of a reader, without the bytes that a connection holds. */
const MEMORY = 512;
/** The rows that stopped a reader of this process, by source. The gateway forgets the oldest of too many rows. */
const skipped = new Map<string, Set<string>>();
const SKIPPED = 1_000;

/** The built thread. Node 20 cannot load a thread from TypeScript, so the tests build first. */
const BUILT = 'dist/src/sources/reader/worker.js';
const ENTRY = import.meta.url.endsWith('.ts') ? new URL(BUILT, packageRoot) : new URL('./worker.js', import.meta.url);

export interface ReaderOptions {
  /** The file of the thread. */
  readonly entry?: URL;
  /** The looks without a beat after which the reader is ended. */
  readonly silent?: number;
}

/** Opens a stored source in a thread of its own. */
export const openStoredReader = (keys: Pick<Keyring, 'open'>, stored: StoredSource): Source => {
  const { kind, settings } = settingsOf(keys, stored);
  return openReader(kind, settings);
};

/**
 * Opens a source in a thread of its own. The thread speaks with the server of the helpdesk, and maps, checks and converts
 * its rows. An error, a lack of memory or a hang there ends this thread and nothing else. Then all calls fail, and the
 * source is opened again. A row that a thread hangs on becomes a reject.
 */
export function openReader(kind: SourceKind, settings: SourceSettings, options: ReaderOptions = {}): Source {
  const { entry = ENTRY, silent = SILENT } = options;
  const skips = skipped.get(settings.reader) ?? new Set<string>();
  const memory = newMemory();
  const pulse = new Pulse(memory);
  const workerData: Opening = { kind, settings, memory, skipped: [...skips] };
  const worker = new Worker(entry, { workerData, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: MEMORY } });
  worker.unref();

  interface Waiting {
    resolve(answer: unknown): void;
    reject(error: Error): void;
    readonly until: number;
  }
  const waiting = new Map<number, Waiting>();
  let [calls, beats, quiet] = [0, 0, 0];
  let changed: () => void = () => undefined;
  let ended: Error | undefined;

  const end = (error: Error): void => {
    if (ended !== undefined) return;
    ended = error;
    clearInterval(look);
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    worker.terminate().catch(() => undefined);
  };
  const look = setInterval(() => {
    if (waiting.size === 0) return;
    quiet = pulse.count === beats ? quiet + 1 : 0;
    beats = pulse.count;
    if (quiet >= silent) {
      if (pulse.row !== '') skip(settings.reader, skips, pulse.row);
      end(new SourceRefused(HANGS));
    } else if ([...waiting.values()].some(({ until }) => performance.now() > until)) end(new SourceRefused(LATE));
  }, LOOK).unref();
  worker.on('message', (reply: Reply) => {
    if ('changed' in reply) return changed();
    const one = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (waiting.size === 0) worker.unref();
    if ('error' in reply) one?.reject(received(reply.error));
    else one?.resolve(reply.answer);
  });
  worker.on('error', (error) => end(new SourceRefused(ENDED, { cause: error })));
  worker.on('messageerror', (error) => end(new SourceRefused(ENDED, { cause: error })));
  worker.on('exit', () => end(new SourceRefused(ENDED)));

  // The answers have the types of Source, because the thread calls the same method of a source.
  const call = <Answer>(method: Call['method'], ...args: readonly unknown[]): Promise<Answer> =>
    new Promise((resolve, reject) => {
      if (ended !== undefined) return reject(ended);
      const id = ++calls;
      waiting.set(id, { resolve: resolve as (answer: unknown) => void, reject, until: performance.now() + DEADLINE });
      worker.ref();
      worker.postMessage({ id, method, args } satisfies Call);
    });
  return {
    check: () => call('check'),
    installation: () => call('installation'),
    begin: () => call('begin'),
    load: (after) => call('load', after),
    changes: (after) => call('changes', after),
    reread: async function* (from) {
      const walk = ++calls;
      await call('reread', walk, from);
      try {
        for (;;) {
          const page = await call<Awaited<ReturnType<Source['load']>>['changes'] | undefined>('next', walk);
          if (page === undefined) return;
          yield page;
        }
      } finally {
        if (ended === undefined) await call('end', walk);
      }
    },
    missing: (of, externalIds) => call('missing', of, externalIds),
    behind: (after) => call('behind', after),
    unmapped: () => call('unmapped'),
    listen: (hear) => {
      changed = hear;
      // If this fails, the reader has ended, and the next call says so.
      call('listen').catch(() => undefined);
      return async () => {
        changed = () => undefined;
        if (ended === undefined) await call('unlisten').catch(() => undefined);
      };
    },
    forget: () => call('forget'),
    close: async () => {
      if (ended === undefined) {
        const late = setTimeout(() => end(new SourceRefused(LATE)), CLOSING);
        await call('close').catch(() => undefined);
        clearTimeout(late);
      }
      end(new SourceRefused(ENDED));
      await worker.terminate();
    },
  };
}

function skip(source: string, rows: Set<string>, row: string): void {
  rows.delete(row);
  rows.add(row);
  for (const oldest of rows) if (rows.size > SKIPPED) rows.delete(oldest);
  skipped.set(source, rows);
}

const HANGS = 'The reader of the source stopped responding, so the gateway ended it and tries again.';
const LATE = 'The source did not answer in time, so the gateway ended its reader. The gateway tries again.';
const ENDED = 'The reader of the source ended unexpectedly. The gateway tries again.';
