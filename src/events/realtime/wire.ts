import { HEARTBEAT } from '../../core/realtime.ts';

/** The socket below, as its surface has it. */
export interface Wire {
  send(text: string): void;
  ping(): void;
  /** Bytes that were sent and that the client has not taken yet. */
  readonly buffered: number;
  /** Says why and closes; the socket is cut where the client does not answer that. */
  close(code: number, reason: string): void;
  /** Reads nothing more. After `close`, the socket is cut when the time for an answer is over. */
  deafen(): void;
  /** Cuts at once. */
  cut(): void;
}

/** Milliseconds. */
export interface Timings {
  /** A page waits that long for its acknowledgement. */
  readonly ack: number;
  /** A socket of which nothing was heard for so long is cut. */
  readonly silence: number;
  readonly heartbeat: number;
  /** Between questions whether sessions still hold. */
  readonly check: number;
  /** Between looks at the journals, where nothing is told. */
  readonly look: number;
  /** Without any answer of the store, after which nothing may be streamed on (decisions, section 14). */
  readonly unproved: number;
  /** Between attempts to read a page from a store that is not there. */
  readonly retry: number;
}

export const TIMINGS: Timings = {
  ack: 60_000,
  silence: 60_000,
  heartbeat: HEARTBEAT * 1000,
  check: 1_000,
  look: 100,
  unproved: 30_000,
  retry: 1_000,
};
