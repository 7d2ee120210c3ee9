/** Subprotocol of the socket (decisions, section 14). */
export const PROTOCOL = 'igw.realtime.v1';
/** Seconds between the server's pings. */
export const HEARTBEAT = 25;
/** Subscriptions that one socket streams at the same time. */
export const MAX_ATTACHED = 20;

/** What opens the socket once: 32 random bytes in base64url. */
export interface RealtimeTicket {
  readonly ticket: string;
  /** Unix milliseconds. */
  readonly ticket_expires_at: number;
  /** Where the socket is; the ticket travels in Sec-WebSocket-Protocol, never in the address. */
  readonly socket_url: string;
}

export interface RealtimeSession extends RealtimeTicket {
  readonly session_id: string;
  readonly protocol: typeof PROTOCOL;
  /** Unix milliseconds: an hour, or the end of the token where that is sooner. */
  readonly expires_at: number;
  readonly heartbeat_seconds: typeof HEARTBEAT;
  readonly max_subscriptions: typeof MAX_ATTACHED;
}

/** Writes of realtime sessions; the origin is the call's own. */
export interface RealtimeWrites {
  /** Of the websites given, or of all that are granted. */
  createSession(websites: readonly string[] | undefined): Promise<RealtimeSession>;
  /** Ends the ticket before, where that was not used. */
  createTicket(session: string): Promise<RealtimeTicket>;
  closeSession(session: string): Promise<void>;
}
