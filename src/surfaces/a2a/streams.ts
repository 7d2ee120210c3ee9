import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Authority } from '../../core/authority.ts';
import { Failure, refusesCredential } from '../../core/failures.ts';
import { PeriodicJob } from '../../flow/periodic-job.ts';
import { asFailure, type Corridor } from '../../gateway/call.ts';
import { exchangeOf } from '../http/exchange.ts';
import { begin } from '../http/reply.ts';

export const STREAM_TYPE = 'text/event-stream';

export interface StreamTimings {
  /** Milliseconds between two checks of each authority. */
  readonly check: number;
  /** Milliseconds without an event, after which a comment keeps proxies awake. */
  readonly comment: number;
  /** Milliseconds after which a reader that takes nothing is cut. */
  readonly unread: number;
  /** Milliseconds without an answer of the store about the authority, after which a stream ends. */
  readonly unproved: number;
}

const TIMINGS: StreamTimings = { check: 1_000, comment: 15_000, unread: 30_000, unproved: 30_000 };
/** Open streams of one credential, of one app, and of all, in this process. */
const PER_CREDENTIAL = 20;
const PER_APP = 500;
const IN_ALL = 1_000;
/** Authorities that are checked at the same time. */
const TOGETHER = 8;

/**
 * The event streams of one process. One timer looks after all of them, and one job checks their authorities again.
 */
export class Streams {
  readonly #corridor: Corridor;
  readonly #timings: StreamTimings;
  readonly #open = new Set<Stream>();
  /** The number of open streams of each credential and of each app. */
  readonly #held = new Map<string, number>();
  readonly #checks: PeriodicJob;
  readonly #ticks: PeriodicJob;

  constructor(corridor: Corridor, timings: Partial<StreamTimings> = {}) {
    this.#corridor = corridor;
    this.#timings = { ...TIMINGS, ...timings };
    const every = this.#timings.check;
    // A check can fail or hang while the store is away. Then the next round tries again, and `unproved` ends the stream.
    this.#checks = new PeriodicJob({ every, run: () => this.#check(), onError: () => undefined });
    this.#ticks = new PeriodicJob({ every, run: async () => this.#tick(), onError: () => undefined });
    this.#checks.pause();
    this.#ticks.pause();
  }

  /** Counts a stream. Throws `stream_limit` if the credential, the app or the process has too many. */
  enter(
    { credentialId, appId }: Pick<Authority, 'credentialId' | 'appId'>,
    reader: StreamReader,
    gone: AbortController,
  ): Stream {
    const bounds: readonly (readonly [holder: string, most: number])[] = [
      [credentialId, PER_CREDENTIAL],
      [appId, PER_APP],
    ];
    const held = (holder: string): number => this.#held.get(holder) ?? 0;
    if (this.#open.size >= IN_ALL || bounds.some(([holder, most]) => held(holder) >= most))
      throw new Failure('stream_limit', { retryAfter: 1 });
    const count = (more: number): void => {
      for (const [holder] of bounds) {
        const now = held(holder) + more;
        if (now > 0) this.#held.set(holder, now);
        else this.#held.delete(holder);
      }
    };
    const stream = new Stream(reader, gone, () => {
      this.#open.delete(stream);
      count(-1);
      if (this.#open.size > 0) return;
      this.#checks.pause();
      this.#ticks.pause();
    });
    count(1);
    this.#open.add(stream);
    this.#checks.resume();
    this.#ticks.resume();
    return stream;
  }

  #tick(): void {
    const now = performance.now();
    for (const stream of this.#open) {
      if (now - stream.provedAt > this.#timings.unproved) stream.end();
      else stream.tick(now, this.#timings);
    }
  }

  async #check(): Promise<void> {
    // Streams with the same token and address share one check.
    const alike = new Map<string, Stream[]>();
    for (const stream of this.#open) {
      const key = `${stream.reader.bearer} ${stream.reader.from}`;
      alike.set(key, [...(alike.get(key) ?? []), stream]);
    }
    const waiting = [...alike.values()];
    const work = async (): Promise<void> => {
      for (let streams = waiting.pop(); streams?.[0]; streams = waiting.pop()) {
        const { bearer, from } = streams[0].reader;
        try {
          await this.#corridor.prove(bearer, 'a2a', from);
          for (const stream of streams) stream.provedAt = performance.now();
        } catch (error) {
          const failure = asFailure(error);
          if (refusesCredential(failure)) for (const stream of streams) stream.end(failure);
        }
      }
    };
    await Promise.all(Array.from({ length: TOGETHER }, work));
  }
}

interface StreamReader {
  readonly bearer: string;
  /** The reader's address. */
  readonly from: string | undefined;
}

/** One open stream. It counts from the request on, before its first event. */
export class Stream {
  readonly reader: StreamReader;
  provedAt = performance.now();
  /** Why the stream ended early: its authority has lapsed. */
  lapsed: Failure | undefined;
  readonly #gone: AbortController;
  readonly #leave: () => void;
  #request: IncomingMessage | undefined;
  #response: ServerResponse | undefined;
  #wroteAt = performance.now();
  #stuckSince: number | undefined;
  #closed = false;

  constructor(reader: StreamReader, gone: AbortController, leave: () => void) {
    this.reader = reader;
    this.#gone = gone;
    this.#leave = leave;
  }

  /** Sends the head of the stream. `no-transform` and `X-Accel-Buffering` keep proxies from holding events back. */
  begin(request: IncomingMessage, response: ServerResponse, headers: OutgoingHttpHeaders): void {
    if (response.destroyed || response.headersSent) return;
    this.#request = request;
    this.#response = response;
    begin(request, response, 200, {
      ...headers,
      'Content-Type': STREAM_TYPE,
      'Cache-Control': 'no-store, no-transform',
      'X-Accel-Buffering': 'no',
      // A stream can end because the process stops. Then its connection must not stay open.
      Connection: 'close',
    });
  }

  /** Writes an event. Resolves when the reader can take the next one, or is gone. */
  async write(event: unknown): Promise<void> {
    const response = this.#response;
    if (!response || response.destroyed) return;
    const text = `data: ${JSON.stringify(event)}\n\n`;
    if (this.#request) exchangeOf(this.#request)?.hold(Buffer.byteLength(text));
    this.#wroteAt = performance.now();
    if (response.write(text) || this.#gone.signal.aborted) return;
    await new Promise<void>((resolve) => {
      response.once('drain', resolve);
      this.#gone.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  tick(now: number, { comment, unread }: StreamTimings): void {
    const response = this.#response;
    // A write after the end would be an error that nobody handles.
    if (!response || response.destroyed || response.writableEnded) return;
    if (response.writableNeedDrain) {
      this.#stuckSince ??= now;
      if (now - this.#stuckSince > unread) response.destroy();
      return;
    }
    this.#stuckSince = undefined;
    if (now - this.#wroteAt < comment) return;
    this.#wroteAt = now;
    response.write(':\n\n');
  }

  /** Ends the events. The surface then closes the stream, with an error as its last event if the authority has lapsed. */
  end(lapsed?: Failure): void {
    this.lapsed ??= lapsed;
    this.#gone.abort();
  }

  /** Closes the stream and frees its place. A second call does nothing. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#leave();
    if (this.#response?.destroyed === false) this.#response.end();
  }
}
