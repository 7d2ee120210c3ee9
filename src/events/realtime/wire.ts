import { HEARTBEAT } from '../../core/realtime.ts';

/** The transport of a realtime socket. The surface implements it. */
export interface Wire {
  send(text: string): void;
  ping(): void;
  /** Bytes that the gateway has sent and the client has not read yet. */
  readonly buffered: number;
  /** Sends a close frame. A client that does not answer the close frame is disconnected. */
  close(code: number, reason: string): void;
  /** Stops reading from the client. After `close`, the socket is disconnected when the time for an answer is over. */
  deafen(): void;
  /** Disconnects the client at once. */
  cut(): void;
}

/** The times of a realtime socket in milliseconds. */
export interface Timings {
  /** The longest time that a page waits for its acknowledgement. */
  readonly ack: number;
  /** The longest silence of a client. After this time without a frame from the client, its socket is disconnected. */
  readonly silence: number;
  readonly heartbeat: number;
  /** The time between two checks of the sessions. Each check closes the sockets whose session has ended. */
  readonly check: number;
  /** The time between two reads of the journals' heads when no notification arrives. */
  readonly look: number;
  /** The longest time without an answer of the store. Streaming then stops, because a revocation can go unnoticed. */
  readonly unproved: number;
  /** The time between two attempts to read a page while the store is away. */
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
