import { HEARTBEAT } from '../../core/realtime.ts';

/** The transport of a socket. The surface implements it. */
export interface Wire {
  send(text: string): void;
  ping(): void;
  /** Bytes that were sent and that the client has not read yet. */
  readonly buffered: number;
  /** Sends a close frame. A client that does not answer it is disconnected. */
  close(code: number, reason: string): void;
  /** Stops reading. After `close`, the socket is disconnected when the time for an answer is over. */
  deafen(): void;
  /** Disconnects at once. */
  cut(): void;
}

/** Milliseconds. */
export interface Timings {
  /** How long a page may wait for its acknowledgement. */
  readonly ack: number;
  /** A socket is disconnected after this time without a frame from its client. */
  readonly silence: number;
  readonly heartbeat: number;
  /** Time between two checks of the sessions: each check closes the sockets whose session has ended. */
  readonly check: number;
  /** Time between two looks at the journals, when no notification arrives. */
  readonly look: number;
  /** Streaming stops after this time without an answer of the store, because a revocation may go unnoticed. */
  readonly unproved: number;
  /** Time between two attempts to read a page while the store is away. */
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
