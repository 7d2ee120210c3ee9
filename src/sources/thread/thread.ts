import { Worker } from 'node:worker_threads';
import { packageRoot } from '../../config/package.ts';
import { SourceRefused } from '../follow/explain.ts';
import { type Abort, newMemory, received, sent, type ThreadCall, ThreadPulse, type ThreadReply } from './protocol.ts';

/** Milliseconds between two checks of the pulse. After SILENT checks without a beat, a thread is ended. */
const LOOK = 1_000;
const SILENT = 15;
/** Timeout (ms) of one call. A page can need several statements, and each may take a minute. */
const DEADLINE = 600_000;
/** How long (ms) a thread may take to close its connections. */
const CLOSING = 5_000;
/**
 * The heap limit of a thread in MiB. A page of 8 MiB of the longest mails needs less than 64. The buffers of its
 * connections are not in the heap: a full reader takes 191 to 202 MiB in all (24 November 2026,
 * test/hostile/postgres-memory.test.ts).
 *
 * Node gives a full heap 16 MiB more for an orderly end. V8 ends the whole process if one value is larger than that, so
 * the values of a helpdesk have a limit (store/driver/wire.ts).
 */
const MEMORY = 128;

/** The built file of a thread. Node 20 cannot start a thread from a TypeScript file, so the tests build first. */
export const entryIn = (folder: 'reader' | 'writer'): URL =>
  import.meta.url.endsWith('.ts')
    ? new URL(`dist/src/sources/${folder}/worker.js`, packageRoot)
    : new URL(`../${folder}/worker.js`, import.meta.url);

export interface ThreadOptions {
  readonly entry?: URL;
  /** Checks without a beat after which the thread is ended. For a thread that has not started yet: SILENT. */
  readonly silent?: number;
}

/** The work of a thread. `opening` is sent to the thread. No error of the thread shows one of the secrets. */
interface ThreadWork {
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
  /** Rejects with the error of the thread, or with the reason why the thread ended. */
  call<Answer>(method: Method, ...args: readonly unknown[]): Promise<Answer>;
  /** Like `call`, with a `deadline` in milliseconds. The signal aborts the call in the thread, which still answers. */
  callWithin<Answer>(method: Method, args: readonly unknown[], limits: Limits): Promise<Answer>;
  readonly ended: boolean;
  close(): Promise<void>;
}

interface PendingCall {
  resolve(answer: unknown): void;
  reject(error: Error): void;
  readonly until: number;
}

/**
 * Opens a thread that communicates with a foreign server. An error, too little memory or a hang there ends only this
 * thread, and all its calls fail. `hung` gets the row that the thread worked on, if any.
 */
export function openThread<Method extends string>(
  { opening, secrets, texts }: ThreadWork,
  { entry, silent = SILENT }: ThreadOptions & { readonly entry: URL },
  heard: { readonly changed?: () => void; readonly hung?: (row: string) => void } = {},
): Thread<Method | 'close'> {
  const memory = newMemory();
  const pulse = new ThreadPulse(memory);
  const workerData = { ...opening, memory };
  const worker = new Worker(entry, { workerData, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: MEMORY } });
  worker.unref();
  const waiting = new Map<number, PendingCall>();
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
  worker.on('message', (reply: ThreadReply) => {
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

  // The thread calls the method of the same name, so its answers have the types of the interface.
  const begin = <Answer>(method: Method | 'close', args: readonly unknown[], deadline: number) => {
    const id = ++calls;
    const answer = new Promise<Answer>((resolve, reject) => {
      if (ended !== undefined) return reject(ended);
      waiting.set(id, { resolve: resolve as (answer: unknown) => void, reject, until: performance.now() + deadline });
      worker.ref();
      worker.postMessage({ id, method, args } satisfies ThreadCall<string>);
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
