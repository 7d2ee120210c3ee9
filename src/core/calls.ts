/**
 * What the gateway reports about each ended call, for metrics and traces. It holds our own names, never a caller's
 * text.
 */

export const SURFACES = ['rest', 'mcp', 'a2a', 'oauth', 'realtime', 'public'] as const;
export type Surface = (typeof SURFACES)[number];

export interface EndedCall {
  readonly surface: Surface;
  /** Name of the tool or skill. For another request: the name that the surface gives it, or `none`. */
  readonly operation: string;
  /** `ok`, the code of a failure, or `unfinished` if the client disconnected before the answer. */
  readonly outcome: string;
  readonly status: number;
  readonly seconds: number;
  readonly requestId: string;
}

/** Receives the requests and upgrades of the HTTP server. */
export interface Observer {
  readonly ended: (call: EndedCall) => void;
  /** Called when a request begins. `traceparent` is the header that a trusted proxy sent. */
  readonly trace?: ((traceparent: string | undefined) => CallTrace) | undefined;
}

/** The trace of one running call. */
export interface CallTrace {
  /** Runs `work`. Statements that `work` starts belong to the trace of this call. */
  run<T>(work: () => T): T;
  end(call: EndedCall): void;
}

/** What the clients of an HTTP server occupy now. */
export interface Held {
  readonly connections: number;
  /** Requests that have started and have not ended. */
  readonly requests: number;
  /** Requests that wait behind another request on the same connection. */
  readonly waiting: number;
  /** Unsent bytes of replies. Only replies of more than 16 KiB count. */
  readonly unread: number;
}
