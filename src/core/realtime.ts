/** WebSocket subprotocol of the realtime socket. */
export const PROTOCOL = 'igw.realtime.v1';
/** Seconds between the server's pings. */
export const HEARTBEAT = 25;
/** Most subscriptions that one socket streams at the same time. */
export const MAX_ATTACHED = 20;

/** A one-time ticket that opens the socket: 32 random bytes in base64url. */
export interface RealtimeTicket {
  readonly ticket: string;
  /** Unix milliseconds. */
  readonly ticket_expires_at: number;
  /** URL of the socket. The ticket travels in Sec-WebSocket-Protocol, because logs keep URLs. */
  readonly socket_url: string;
}

export interface RealtimeSession extends RealtimeTicket {
  readonly session_id: string;
  readonly protocol: typeof PROTOCOL;
  /** Unix milliseconds: one hour after creation, or the end of the token if that comes first. */
  readonly expires_at: number;
  readonly heartbeat_seconds: typeof HEARTBEAT;
  readonly max_subscriptions: typeof MAX_ATTACHED;
}

/** Writes of realtime sessions. The origin comes from the call. */
export interface RealtimeWrites {
  /** Creates a session for the given websites. `undefined`: all granted websites. */
  createSession(websites: readonly string[] | undefined): Promise<RealtimeSession>;
  /** Issues a new ticket and ends the previous ticket if it is unused. */
  createTicket(session: string): Promise<RealtimeTicket>;
  closeSession(session: string): Promise<void>;
}
