/** A report about one finished call, for metrics and traces. The report never contains text from a caller. */

export const SURFACES = ['rest', 'mcp', 'a2a', 'oauth', 'realtime', 'public'] as const;
export type Surface = (typeof SURFACES)[number];

export interface EndedCall {
  readonly surface: Surface;
  /** Name of the called tool or skill. For other requests, the surface chooses a name, or the name is `none`. */
  readonly operation: string;
  /**
   * How the call ended: `ok`, the code of a failure, or `unfinished`. `unfinished` means that the client disconnected
   * before the answer.
   */
  readonly outcome: string;
  readonly status: number;
  readonly seconds: number;
  readonly requestId: string;
}

export interface Observer {
  readonly ended: (call: EndedCall) => void;
  /** The server calls `trace` when a request begins. `traceparent` is the header that a trusted proxy sent. */
  readonly trace?: ((traceparent: string | undefined) => CallTrace) | undefined;
}

export interface CallTrace {
  /** Runs `work`. The trace of this call includes the SQL statements that `work` starts. */
  run<T>(work: () => T): T;
  /**
   * Moves this call into the trace that a client named in its message. Does nothing if a trusted proxy has already named
   * a trace, or if the trace context is malformed. The client never decides whether the call is sampled.
   */
  follow(traceparent: string): void;
  end(call: EndedCall): void;
}

/** The resources that the clients of an HTTP server use at this moment. */
export interface Held {
  readonly connections: number;
  readonly requests: number;
  /** Number of requests that wait because an earlier request on their connection is still running. */
  readonly waiting: number;
  /** Bytes of replies that clients have not yet received. Replies of at most 16 KiB do not count. */
  readonly unread: number;
}
