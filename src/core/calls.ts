/** Reports about finished calls, for metrics and traces. A report never contains text from a caller. */

export const SURFACES = ['rest', 'mcp', 'a2a', 'oauth', 'record', 'console', 'realtime', 'public'] as const;
export type Surface = (typeof SURFACES)[number];

export interface EndedCall {
  readonly surface: Surface;
  /** Name of the called tool or skill. For other requests, the surface chooses a name, or the name is `none`. */
  readonly operation: string;
  /** `ok`, the code of a failure, or `unfinished` if the client disconnected before the answer. */
  readonly outcome: string;
  readonly status: number;
  readonly seconds: number;
  readonly requestId: string;
}

export interface Observer {
  readonly ended: (call: EndedCall) => void;
  /** Runs when a request begins. `traceparent` is the header that a trusted proxy sent. */
  readonly trace?: ((traceparent: string | undefined) => CallTrace) | undefined;
}

export interface CallTrace {
  /** The trace id of a sampled call. */
  readonly id: string | undefined;
  /** Runs `work`. The SQL statements that `work` starts belong to the trace of this call. */
  run<T>(work: () => T): T;
  /**
   * Moves this call into the trace that the client's message names. Has no effect if a trusted proxy has named a trace,
   * or if the trace context is malformed. The client never decides whether the call is sampled.
   */
  follow(traceparent: string): void;
  end(call: EndedCall): void;
}

/** The resources that the clients of an HTTP server use at this moment, and what it has refused them. */
export interface HeldResources {
  readonly connections: number;
  readonly requests: number;
  /** Requests that wait because an earlier request on their connection is still running. */
  readonly waiting: number;
  /** Bytes of replies that clients have not yet received. Replies of at most 16 KiB do not count. */
  readonly unread: number;
  /** Connections that were closed at once since the start, because too many were open. */
  readonly refused: number;
  /** Requests with X-Forwarded-For since the start whose peer is no trusted proxy. */
  readonly untrusted: number;
}
