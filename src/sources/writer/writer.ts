import { before } from '../../outbound/before.ts';
import { type Helpdesk, refused } from '../helpdesk.ts';
import type { ApiOfSource, SourceKind } from '../kinds.ts';
import { secretsIn } from '../thread/protocol.ts';
import { entryIn, openThread, type Thread, type ThreadOptions } from '../thread/thread.ts';
import type { WriterMethod } from './host.ts';

export interface Writer extends Helpdesk {
  /** Resolves when a thread can take a call. Throws NotPerformed if none starts in time, or if too many have ended. */
  ready(signal: AbortSignal): Promise<void>;
}

export interface WriterOptions extends ThreadOptions {
  /** How long (ms) a thread stays open without a call. */
  readonly idle?: number;
}

/** The number of checks without a beat after which a thread is ended. There is one check a second. */
const SILENT = 4;
/** A thread that does not answer a call in this many milliseconds is ended. A write is aborted earlier. */
const DEADLINE = 6_000;
/** How long (ms) an idle thread stays open. It takes 19 MiB (24 November 2026, six threads of the built gateway). */
const IDLE = 10 * 60_000;
/** How many threads one source starts at most in WINDOW milliseconds. A helpdesk can have a way to end each of them. */
const STARTS = 4;
const WINDOW = 60_000;

/**
 * Opens a helpdesk for writes in a thread of its own, which starts with the first call. The thread communicates with
 * the API and the database of the helpdesk. If the thread ends, the outcome of its running calls is unknown, and the
 * next call starts another thread.
 */
export function openWriter(kind: SourceKind, settings: ApiOfSource, options: WriterOptions = {}): Writer {
  const { idle = IDLE, ...given } = options;
  let starts: number[] = [];
  let current: { readonly thread: Thread<WriterMethod>; readonly ready: Promise<void> } | undefined;
  let underWay = 0;
  let rest: NodeJS.Timeout | undefined;
  let closed = false;

  function open(): NonNullable<typeof current> {
    if (closed) throw refused('the helpdesk is closed for writes');
    if (current?.thread.ended === false) return current;
    const now = performance.now();
    starts = starts.filter((start) => start > now - WINDOW);
    if (starts.length >= STARTS) throw refused('the thread for the writes to the helpdesk ended too often');
    starts.push(now);
    const thread = openThread<WriterMethod>(
      { opening: { kind, settings }, secrets: secretsIn(settings.address, settings.token), texts: TEXTS },
      { entry: entryIn('writer'), silent: SILENT, ...given },
    );
    const ready = thread.call<void>('ready');
    // Each caller handles a failure itself. This handler prevents an unhandled rejection.
    ready.catch(() => undefined);
    current = { thread, ready };
    return current;
  }

  async function used<T>(work: () => Promise<T>): Promise<T> {
    clearTimeout(rest);
    underWay++;
    try {
      return await work();
    } finally {
      if (--underWay === 0 && !closed) rest = setTimeout(() => void endThread(), idle).unref();
    }
  }
  const call = <Answer>(method: WriterMethod, args: readonly unknown[], signal: AbortSignal): Promise<Answer> =>
    used(() => open().thread.callWithin<Answer>(method, args, { signal, deadline: DEADLINE }));

  async function endThread(): Promise<void> {
    clearTimeout(rest);
    const last = current;
    current = undefined;
    await last?.thread.close();
  }

  return {
    ready: (signal) =>
      used(async () => {
        const { ready } = open();
        await before(signal, ready).catch((error: unknown) => {
          throw refused('the thread for the writes to the helpdesk has not started', undefined, error);
        });
      }),
    addNote: (place, note, signal) => call('addNote', [place, note], signal),
    setDisposition: (place, value, signal) => call('setDisposition', [place, value], signal),
    addReply: (place, reply, signal) => call('addReply', [place, reply], signal),
    changeConversation: (place, change, signal) => call('changeConversation', [place, change], signal),
    findNote: (place, signal) => call('findNote', [place], signal),
    findDisposition: (place, signal) => call('findDisposition', [place], signal),
    findReply: (place, signal) => call('findReply', [place], signal),
    findChange: (place, signal) => call('findChange', [place], signal),
    close: () => {
      closed = true;
      return endThread();
    },
  };
}

const TEXTS = {
  hangs: 'The thread for the writes to the helpdesk stopped responding, so the gateway ended it.',
  late: 'The thread for the writes to the helpdesk did not answer in time, so the gateway ended it.',
  ended: 'The thread for the writes to the helpdesk ended unexpectedly.',
};
