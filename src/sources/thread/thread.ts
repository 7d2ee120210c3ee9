import { Worker } from 'node:worker_threads';
import { packageRoot } from '../../config/package.ts';
import { SourceRefused } from '../follow/explain.ts';
import { type Abort, type Call, newMemory, Pulse, type Reply, received, sent } from './protocol.ts';

/** Milliseconds between two looks at the pulse, and the looks without a beat after which a thread is ended. */
const LOOK = 1_000;
const SILENT = 15;
/** Milliseconds for one call. A page can need several statements, and each may take a minute. */
const DEADLINE = 600_000;
/** Milliseconds in which a thread may close its connections. */
const CLOSING = 5_000;
/**
 * MiB of the heap of a thread. A page of 8 MiB of the longest mails needs less than 64. The bytes of its connections come
 * on top: a full reader takes 191 to 202 MiB in all (24 November 2026, test/hostile/postgres-memory.test.ts). V8 ends the whole
 * process if one value is larger than the 16 MiB that Node gives a full heap for its end, so values of a helpdesk have a
 * bound (store/driver/wire.ts).
 */
const MEMORY = 128;

/** The built file of a thread. Node 20 cannot load a thread from TypeScript, so the tests build first. */
export const entryIn = (folder: 'reader' | 'writer'): URL =>
  import.meta.url.endsWith('.ts')
    ? new URL(`dist/src/sources/${folder}/worker.js`, packageRoot)
    : new URL(`../${folder}/worker.js`, import.meta.url);

export interface ThreadOptions {
  /** The file of the thread. */
  readonly entry?: URL;
  /** The looks without a beat after which the thread is ended. A thread that has not started yet has SILENT looks. */
  readonly silent?: number;
}

/** What a thread does. `opening` goes to the thread. No error of the thread tells one of the secrets. */
interface Work {
  readonly opening: object;
  readonly secrets: readonly string[];
  /** What an error says when the thread stops responding, does not answer in time, or ends. */
  readonly texts: { readonly hangs: string; readonly late: string; readonly ended: string };
}

interface Limits {
  readonly signal: AbortSignal;
  readonly deadline: number;
}

export interface Thread<Method extends string> {
  /** Rejects with the error of the thread, or with the reason of its end. */
  call<Answer>(method: Method, ...args: readonly unknown[]): Promise<Answer>;
  /** Like `call`. When the signal aborts, the thread aborts the call, which then answers. `deadline` is in milliseconds. */
  callWithin<Answer>(method: Method, args: readonly unknown[], limits: Limits): Promise<Answer>;
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
export function openThread<Method extends string>(
  { opening, secrets, texts }: Work,
  { entry, silent = SILENT }: ThreadOptions & { readonly entry: URL },
  heard: { readonly changed?: () => void; readonly hung?: (row: string) => void } = {},
): Thread<Method | 'close'> {
  const memory = newMemory();
  const pulse = new Pulse(memory);
  const workerData = { ...opening, memory };
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
    if (quiet >= (beats === 0 ? SILENT : silent)) {
      if (pulse.row !== '') heard.hung?.(pulse.row);
      end(new SourceRefused(texts.hangs));
    } else if ([...waiting.values()].some(({ until }) => performance.now() > until)) end(new SourceRefused(texts.late));
  }, LOOK).unref();
  worker.on('message', (reply: Reply) => {
    if ('changed' in reply) return heard.changed?.();
    const one = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (waiting.size === 0) worker.unref();
    if ('error' in reply) one?.reject(received(reply.error));
    else one?.resolve(reply.answer);
  });
  const died = (error: unknown): void => end(new SourceRefused(texts.ended, { cause: received(sent(error, secrets)) }));
  worker.on('error', died);
  worker.on('messageerror', died);
  worker.on('exit', () => end(new SourceRefused(texts.ended)));

  // The answers have the types of the interface, because the thread calls the same method.
  const begin = <Answer>(method: Method | 'close', args: readonly unknown[], deadline: number) => {
    const id = ++calls;
    const answer = new Promise<Answer>((resolve, reject) => {
      if (ended !== undefined) return reject(ended);
      waiting.set(id, { resolve: resolve as (answer: unknown) => void, reject, until: performance.now() + deadline });
      worker.ref();
      worker.postMessage({ id, method, args } satisfies Call<string>);
    });
    return { id, answer };
  };
  const call = <Answer>(method: Method | 'close', ...args: readonly unknown[]): Promise<Answer> =>
    begin<Answer>(method, args, DEADLINE).answer;
  return {
    call,
    callWithin: <Answer>(method: Method | 'close', args: readonly unknown[], { signal, deadline }: Limits) => {
      const { id, answer } = begin<Answer>(method, args, deadline);
      const abort = (): void => worker.postMessage({ id, abort: true } satisfies Abort);
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      return answer.finally(() => signal.removeEventListener('abort', abort));
    },
    get ended() {
      return ended !== undefined;
    },
    close: async () => {
      if (ended === undefined) {
        const late = setTimeout(() => end(new SourceRefused(texts.late)), CLOSING);
        await call('close').catch(() => undefined);
        clearTimeout(late);
      }
      end(new SourceRefused(texts.ended));
      await worker.terminate();
    },
  };
}
