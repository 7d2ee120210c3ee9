import { HEARTBEAT } from '../../core/realtime.ts';

export interface Wire {
  send(text: string): void;
  ping(): void;
  /** Bytes that were sent but that the client has not read yet. */
  readonly buffered: number;
  /** Sends a close frame. Disconnects a client that does not answer the close frame. */
  close(code: number, reason: string): void;
  /**
   * Stops reading from the client. The client's answer to `close` is then not read, so the gateway disconnects the
   * client when the time for the answer is over.
   */
  deafen(): void;
  cut(): void;
}

/** The times of a realtime socket, in milliseconds. */
export interface Timings {
  /** The longest time that a page waits for its acknowledgement. */
  readonly ack: number;
  /** A client that sends no frame for this long is disconnected. */
  readonly silence: number;
  readonly heartbeat: number;
  /** The time between two checks of the sessions. A check closes the sockets whose sessions have ended. */
  readonly check: number;
  /** The time between two reads of the journals' last positions when no notification arrives. */
  readonly look: number;
  /** Streaming stops when the store does not answer for this long, because a revocation could go unnoticed. */
  readonly unproved: number;
  /** The time between two attempts to read a page while the store is down. */
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
