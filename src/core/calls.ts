/** What is told of every call when it has ended, for metrics and traces: names of ours, never what somebody sent. */

export const SURFACES = ['rest', 'mcp', 'a2a', 'oauth', 'realtime', 'public'] as const;
export type Surface = (typeof SURFACES)[number];

export interface EndedCall {
  readonly surface: Surface;
  /** A tool's or skill's name, or what the surface calls a request that is no call of one; `none`. */
  readonly operation: string;
  /** `ok`, a failure's code, or `unfinished` where its caller went before the answer. */
  readonly outcome: string;
  readonly status: number;
  readonly seconds: number;
  readonly requestId: string;
}

/** Told of requests and upgrades of the HTTP server. */
export interface Observer {
  readonly ended: (call: EndedCall) => void;
  /** A request begins, with `traceparent` as a trusted proxy has sent it. */
  readonly trace?: ((traceparent: string | undefined) => CallTrace) | undefined;
}

/** One call under way. */
export interface CallTrace {
  /** Statements of what `work` starts are the call's. */
  run<T>(work: () => T): T;
  end(call: EndedCall): void;
}

/** What clients hold of an HTTP server now. */
export interface Held {
  readonly connections: number;
  /** Requests that were begun and have not ended. */
  readonly requests: number;
  /** Requests that wait behind another one on their connection. */
  readonly waiting: number;
  /** Bytes of replies of more than 16 KiB that were not taken yet. */
  readonly unread: number;
}
