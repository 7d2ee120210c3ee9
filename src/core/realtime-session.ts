export const PROTOCOL = 'igw.realtime.v1';
/** Seconds between two pings from the server. */
export const HEARTBEAT = 25;
export const MAX_ATTACHED = 20;

/** A one-time ticket for the realtime socket: 32 random bytes in base64url. */
export interface RealtimeTicket {
  readonly ticket: string;
  /** Unix milliseconds. */
  readonly ticket_expires_at: number;
  /** The URL has no ticket, because logs keep URLs. The client sends the ticket in Sec-WebSocket-Protocol. */
  readonly socket_url: string;
}

export interface RealtimeSession extends RealtimeTicket {
  readonly session_id: string;
  readonly protocol: typeof PROTOCOL;
  /** Unix milliseconds. A session lasts one hour, or until its token expires. */
  readonly expires_at: number;
  readonly heartbeat_seconds: typeof HEARTBEAT;
  readonly max_subscriptions: typeof MAX_ATTACHED;
}

export interface RealtimeWrites {
  /** Undefined `websites`: all granted websites. */
  createSession(websites: readonly string[] | undefined): Promise<RealtimeSession>;
  /** The session's previous ticket stops working, even if it is unused. */
  createTicket(session: string): Promise<RealtimeTicket>;
  closeSession(session: string): Promise<void>;
}
