/** Report of an ended call, for metrics and traces. The report never contains text from a caller. */

export const SURFACES = ['rest', 'mcp', 'a2a', 'oauth', 'realtime', 'public'] as const;
export type Surface = (typeof SURFACES)[number];

export interface EndedCall {
  readonly surface: Surface;
  /** Name of the tool or skill. A request that calls neither has a name that its surface chooses, or `none`. */
  readonly operation: string;
  /** `ok`, the code of a failure, or `unfinished` if the client disconnected before the answer. */
  readonly outcome: string;
  readonly status: number;
  readonly seconds: number;
  readonly requestId: string;
}

/** Receives reports about the requests and upgrades of the HTTP server. */
export interface Observer {
  readonly ended: (call: EndedCall) => void;
  /** The server calls this function when a request begins. `traceparent` is the header that a trusted proxy sent. */
  readonly trace?: ((traceparent: string | undefined) => CallTrace) | undefined;
}

export interface CallTrace {
  /** Runs `work`. The trace of this call includes the statements that `work` starts. */
  run<T>(work: () => T): T;
  end(call: EndedCall): void;
}

/** The resources of an HTTP server that its clients occupy now. */
export interface Held {
  readonly connections: number;
  /** Number of requests that have started and have not ended. */
  readonly requests: number;
  /** Number of requests that wait behind another request on the same connection. */
  readonly waiting: number;
  /** Bytes of replies that are not sent yet. Only replies of more than 16 KiB count. */
  readonly unread: number;
}
