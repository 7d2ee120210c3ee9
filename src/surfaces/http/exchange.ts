import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { networkOf } from '../../auth/network.ts';
import type { CallTrace, Observer } from '../../core/calls.ts';
import type { Source } from '../../gateway/call.ts';
import type { Budget } from './budget.ts';
import { endedCall, newRequestId, type RequestContext, type RequestRecord, since, type teller } from './records.ts';

/** What all exchanges of a server share. */
export interface Serving {
  readonly tell: ReturnType<typeof teller>;
  readonly observer: Observer | undefined;
  /** Bytes of replies that their readers have not taken yet, over all surfaces. */
  readonly unread: Budget;
  /** Bytes of request bodies that are being read. */
  readonly bodies: Budget;
  /** Headers of every reply. */
  readonly headers: OutgoingHttpHeaders;
  /** Address that a request came from; it can be asked for after the socket has closed. */
  readonly from: (request: IncomingMessage) => () => string;
  readonly trace: (request: IncomingMessage) => CallTrace | undefined;
  readonly answer: (
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
  ) => boolean | Promise<void>;
}

/** Why a reply was written past the response object. */
interface Cut {
  readonly status: number;
  readonly code: string;
  readonly reason: string;
}

/**
 * A reply of at most so many bytes is not counted: a connection sends one reply at a time, and the kernel takes that much from
 * us at once.
 */
const SMALL = 16 * 1024;

const exchanges = new WeakMap<IncomingMessage, Exchange>();

/** The exchange of a request that a server of ours has begun. */
export const exchangeOf = (request: IncomingMessage): Exchange | undefined => exchanges.get(request);

/** The id under which a request is logged and answered, and what the log says of it. */
export const contextOf = (request: IncomingMessage): RequestContext =>
  exchanges.get(request) ?? { requestId: '', record: {} };

/**
 * One request and its reply. Its connection begins it and ends it, exactly once each; everything that the request holds is
 * given back by `end`, and the books (log, metrics, trace) get one entry.
 */
export class Exchange implements RequestContext, Source {
  readonly requestId = newRequestId();
  readonly record: RequestRecord = {};
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Set when the request is refused while its body is still expected. */
  cut: Cut | undefined;
  /** Why the client was disconnected before it had its reply, for the log. */
  reason: string | undefined;
  /** When the whole reply was first seen handed over to the socket; performance.now(). */
  repliedAt: number | undefined;
  /** Whose share the reply counts against, and since when; performance.now(). */
  held: { readonly share: string; bytes: number; readonly since: number } | undefined;
  #body = 0;
  readonly #serving: Serving;
  readonly #from: () => string;
  readonly #trace: CallTrace | undefined;
  readonly #began = performance.now();
  #work: boolean | Promise<void> = false;
  #over = false;

  constructor(serving: Serving, request: IncomingMessage, response: ServerResponse) {
    this.#serving = serving;
    this.request = request;
    this.response = response;
    this.#from = serving.from(request);
    this.#trace = serving.trace(request);
    exchanges.set(request, this);
    for (const [name, value] of Object.entries(serving.headers)) response.setHeader(name, value ?? '');
    response.setHeader('X-Request-Id', this.requestId);
  }

  run(): void {
    const { request, response } = this;
    const answer = (): void => {
      this.#work = this.#serving.answer(request, response, this);
    };
    if (this.#trace) this.#trace.run(answer);
    else answer();
  }

  get from(): string {
    return this.#from();
  }

  /** The client is gone or has its answer. Node does not say so of every response (connection.ts). */
  get done(): boolean {
    return this.#over || this.cut !== undefined || this.response.headersSent || this.response.destroyed;
  }

  /** Throws `answers_unread` where the app's share is used up: before the call costs or does anything. */
  room(app: string): void {
    this.#serving.unread.room(app);
  }

  /**
   * Counts a reply of so many bytes as unread until the end; a second call adds what is more. Throws `answers_unread` or
   * `service_unavailable` where that is too much, but never for a request that has changed something.
   */
  hold(bytes: number): void {
    const more = bytes - (this.held?.bytes ?? 0);
    if (bytes <= SMALL || more <= 0 || this.#over) return;
    const { unread } = this.#serving;
    const share = this.held?.share ?? this.record.app ?? networkOf(this.from);
    if (this.record.effect) unread.count(share, more);
    else unread.hold(share, more);
    if (this.held) this.held.bytes = bytes;
    else this.held = { share, bytes, since: performance.now() };
  }

  /** Counts bytes of the body that have come. Throws `service_unavailable` where the caller's network sends too many at once. */
  receive(bytes: number): void {
    if (this.#over) return;
    this.#serving.bodies.hold(networkOf(this.from), bytes);
    this.#body += bytes;
  }

  /** The reply has been taken, or nobody is there to take it. A second call does nothing. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    if (this.held) this.#serving.unread.release(this.held.share, this.held.bytes);
    if (this.#body > 0) this.#serving.bodies.release(networkOf(this.from), this.#body);
    const { request, response, requestId, record, cut } = this;
    const { tell, observer } = this.#serving;
    const ms = since(this.#began);
    const unfinished = !response.writableFinished;
    const reason = cut?.reason ?? this.reason;
    const book = (): void => {
      if (cut) record.code = cut.code;
      const entry = {
        request_id: requestId,
        method: request.method,
        operation: record.operation ?? 'none',
        status: cut?.status ?? response.statusCode,
        ms,
        ...(reason !== undefined && { reason }),
        ...(unfinished && { unfinished }),
      };
      tell(entry, record, this.#from);
      const call = endedCall(entry, record, unfinished);
      observer?.ended(call);
      this.#trace?.end(call);
    };
    // The work may go on after its client has disconnected. Who called and what was done is known at its end.
    if (unfinished && typeof this.#work === 'object') void this.#work.then(book, book);
    else book();
  }
}
