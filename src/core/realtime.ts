export const PROTOCOL = 'igw.realtime.v1';
/** Seconds between two pings that the server sends. */
export const HEARTBEAT = 25;
export const MAX_ATTACHED = 20;

/** A one-time ticket that opens the realtime socket. The ticket is 32 random bytes in base64url. */
export interface RealtimeTicket {
  readonly ticket: string;
  /** The end of the ticket in Unix milliseconds. */
  readonly ticket_expires_at: number;
  /** The client sends the ticket in Sec-WebSocket-Protocol and not in the URL, because logs keep URLs. */
  readonly socket_url: string;
}

export interface RealtimeSession extends RealtimeTicket {
  readonly session_id: string;
  readonly protocol: typeof PROTOCOL;
  /** The end of the session in Unix milliseconds. A session lasts one hour, or until its token expires. */
  readonly expires_at: number;
  readonly heartbeat_seconds: typeof HEARTBEAT;
  readonly max_subscriptions: typeof MAX_ATTACHED;
}

export interface RealtimeWrites {
  /** If `websites` is undefined, the session gets all granted websites. */
  createSession(websites: readonly string[] | undefined): Promise<RealtimeSession>;
  /** Creates a ticket for the session. The previous ticket of the session stops working, even if it is unused. */
  createTicket(session: string): Promise<RealtimeTicket>;
  closeSession(session: string): Promise<void>;
}
