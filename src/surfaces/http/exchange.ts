import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { CallTrace, Observer } from '../../core/calls.ts';
import { endedCall, newRequestId, type RequestContext, type RequestRecord, since, type teller } from './records.ts';
import type { UnreadReplies } from './unread.ts';

/** What all exchanges of a server share. */
export interface Serving {
  readonly tell: ReturnType<typeof teller>;
  readonly observer: Observer | undefined;
  readonly unread: UnreadReplies;
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
export class Exchange implements RequestContext {
  readonly requestId = newRequestId();
  readonly record: RequestRecord = {};
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Set when the request is refused while its body is still expected. */
  cut: Cut | undefined;
  /** When the whole reply was first seen handed over to the socket; performance.now(). */
  repliedAt: number | undefined;
  /** Since when the reply counts as unread; performance.now(). */
  heldAt: number | undefined;
  readonly #serving: Serving;
  readonly #from: () => string;
  readonly #trace: CallTrace | undefined;
  readonly #began = performance.now();
  #work: boolean | Promise<void> = false;
  #held = 0;
  #share = '';
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

  /** Nobody is there to be answered any more. Node does not say so of every response (connection.ts). */
  get over(): boolean {
    return this.#over;
  }

  /** Counts bytes of the reply as unread until the end. Throws `quota_exceeded` or `service_unavailable` where they are too many. */
  hold(bytes: number): void {
    this.#share = this.record.app ?? this.#from();
    this.#held += this.#serving.unread.hold(this.#share, bytes);
    if (this.#held > 0) this.heldAt = performance.now();
  }

  /** The reply has been taken, or nobody is there to take it. A second call does nothing. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#held > 0) this.#serving.unread.release(this.#share, this.#held);
    const { request, response, requestId, record, cut } = this;
    const { tell, observer } = this.#serving;
    const ms = since(this.#began);
    const unfinished = !response.writableFinished;
    const book = (): void => {
      if (cut) record.code = cut.code;
      const entry = {
        request_id: requestId,
        method: request.method,
        operation: record.operation ?? 'none',
        status: cut?.status ?? response.statusCode,
        ms,
        ...(cut && { reason: cut.reason }),
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
