/** Name of the WebSocket subprotocol that the realtime socket uses. */
export const PROTOCOL = 'igw.realtime.v1';
/** Seconds between two pings of the server. */
export const HEARTBEAT = 25;
/** Largest number of subscriptions that one socket streams at the same time. */
export const MAX_ATTACHED = 20;

/** A one-time ticket that opens the realtime socket. The ticket is 32 random bytes in base64url. */
export interface RealtimeTicket {
  readonly ticket: string;
  /** The time when the ticket expires, in Unix milliseconds. */
  readonly ticket_expires_at: number;
  /** URL of the socket. The client sends the ticket in Sec-WebSocket-Protocol, because logs keep URLs. */
  readonly socket_url: string;
}

export interface RealtimeSession extends RealtimeTicket {
  readonly session_id: string;
  readonly protocol: typeof PROTOCOL;
  /** End of the session, in Unix milliseconds. A session ends after one hour, or earlier with its token. */
  readonly expires_at: number;
  readonly heartbeat_seconds: typeof HEARTBEAT;
  readonly max_subscriptions: typeof MAX_ATTACHED;
}

/** Writes of realtime sessions. The Origin header of the call supplies the origin. */
export interface RealtimeWrites {
  /** Creates a session for the given websites. `undefined` means all granted websites. */
  createSession(websites: readonly string[] | undefined): Promise<RealtimeSession>;
  /** Creates a new ticket for the session. The previous ticket stops working, even if nobody has used it. */
  createTicket(session: string): Promise<RealtimeTicket>;
  closeSession(session: string): Promise<void>;
}
