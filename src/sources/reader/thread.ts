import { Worker } from 'node:worker_threads';
import { packageRoot } from '../../config/package.ts';
import { SourceRefused } from '../follow/explain.ts';
import { type Call, newMemory, type Opening, Pulse, type Reply, received, secretsOf, sent } from './protocol.ts';

/** Milliseconds between two looks at the pulse, and the looks without a beat after which a thread is ended. */
const LOOK = 1_000;
const SILENT = 15;
/** Milliseconds for one call. A page can need several statements, and each may take a minute. */
const DEADLINE = 600_000;
/** Milliseconds in which a thread may close its connections. */
const CLOSING = 5_000;
/**
 * MiB of the heap of a thread. A page of 8 MiB of the longest mails needs less than 64. The bytes of its connections come
 * on top: a full thread takes 191 to 202 MiB in all (24 November 2026, test/hostile/postgres-memory.test.ts). V8 ends the whole
 * process if one value is larger than the 16 MiB that Node gives a full heap for its end, so values of a helpdesk have a
 * bound (store/driver/wire.ts).
 */
const MEMORY = 128;

/** The built thread. Node 20 cannot load a thread from TypeScript, so the tests build first. */
const BUILT = 'dist/src/sources/reader/worker.js';
const ENTRY = import.meta.url.endsWith('.ts') ? new URL(BUILT, packageRoot) : new URL('./worker.js', import.meta.url);

export interface ThreadOptions {
  /** The file of the thread. */
  readonly entry?: URL;
  /** The looks without a beat after which the thread is ended. */
  readonly silent?: number;
}

export interface Thread {
  /** Rejects with the error of the thread, or with the reason of its end. */
  call<Answer>(method: Call['method'], ...args: readonly unknown[]): Promise<Answer>;
  readonly ended: boolean;
  close(): Promise<void>;
}

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
  readonly until: number;
}

/**
 * Opens a thread that speaks with a server of somebody else. An error, a lack of memory or a hang there ends this thread
 * and nothing else. Then all its calls fail. `hung` gets the row that the thread worked on, if there is one.
 */
export function openThread(
  opening: Omit<Opening, 'memory'>,
  { entry = ENTRY, silent = SILENT }: ThreadOptions,
  heard: { readonly changed?: () => void; readonly hung?: (row: string) => void } = {},
): Thread {
  const memory = newMemory();
  const pulse = new Pulse(memory);
  const workerData: Opening = { ...opening, memory };
  const worker = new Worker(entry, { workerData, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: MEMORY } });
  worker.unref();
  const waiting = new Map<number, Waiting>();
  let [calls, beats, quiet] = [0, 0, 0];
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
      if (pulse.row !== '') heard.hung?.(pulse.row);
      end(new SourceRefused(HANGS));
    } else if ([...waiting.values()].some(({ until }) => performance.now() > until)) end(new SourceRefused(LATE));
  }, LOOK).unref();
  worker.on('message', (reply: Reply) => {
    if ('changed' in reply) return heard.changed?.();
    const one = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (waiting.size === 0) worker.unref();
    if ('error' in reply) one?.reject(received(reply.error));
    else one?.resolve(reply.answer);
  });
  const secrets = secretsOf(opening.settings.address);
  const died = (error: unknown): void => end(new SourceRefused(ENDED, { cause: received(sent(error, secrets)) }));
  worker.on('error', died);
  worker.on('messageerror', died);
  worker.on('exit', () => end(new SourceRefused(ENDED)));

  // The answers have the types of the interface, because the thread calls the same method.
  const call = <Answer>(method: Call['method'], ...args: readonly unknown[]): Promise<Answer> =>
    new Promise((resolve, reject) => {
      if (ended !== undefined) return reject(ended);
      const id = ++calls;
      waiting.set(id, { resolve: resolve as (answer: unknown) => void, reject, until: performance.now() + DEADLINE });
      worker.ref();
      worker.postMessage({ id, method, args } satisfies Call);
    });
  return {
    call,
    get ended() {
      return ended !== undefined;
    },
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

const HANGS = 'The reader of the source stopped responding, so the gateway ended it and tries again.';
const LATE = 'The source did not answer in time, so the gateway ended its reader. The gateway tries again.';
const ENDED = 'The reader of the source ended unexpectedly. The gateway tries again.';
