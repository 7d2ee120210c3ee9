import { HEARTBEAT } from '../../core/realtime-session.ts';

export interface Wire {
  send(text: string): void;
  ping(): void;
  /** Sent bytes that the client has not read yet. */
  readonly buffered: number;
  /** Sends a close frame, and disconnects a client that does not answer it. */
  close(code: number, reason: string): void;
  /** Stops reading, also the answer to `close`. So the client is disconnected when its time to answer is over. */
  deafen(): void;
  cut(): void;
}

/** All values are milliseconds. */
export interface Timings {
  /** How long a page waits for its acknowledgement. */
  readonly ack: number;
  /** A client that sends no frame for this long is disconnected. */
  readonly silence: number;
  readonly heartbeat: number;
  /** Time between two checks. A check closes the sockets of ended sessions. */
  readonly check: number;
  /** Time between two reads of the journals' heads when no notification arrives. */
  readonly look: number;
  /** Streaming stops if the store does not answer for this long, because a revocation could go unnoticed. */
  readonly unproved: number;
  /** Time between two tries to read a page while the store is down. */
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
