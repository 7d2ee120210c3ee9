import { z } from 'zod';
import { RealtimeSessionId } from '../core/ids.ts';
import { HEARTBEAT, MAX_ATTACHED, PROTOCOL, type RealtimeSession, type RealtimeTicket } from '../core/realtime.ts';

const ticket = {
  ticket: z.string().describe('Opens the socket once: subprotocol ticket.TICKET.'),
  ticket_expires_at: z.int().describe('Unix milliseconds.'),
  socket_url: z.string().describe('Address of the socket.'),
};

/** Answer of the operation that issues a ticket (decisions, section 14). */
export const RealtimeTicketView: z.ZodType<RealtimeTicket, RealtimeTicket> = z.strictObject(ticket);

/** Answer of the operation that creates a session. */
export const RealtimeSessionView: z.ZodType<RealtimeSession, RealtimeSession> = z.strictObject({
  session_id: RealtimeSessionId,
  ...ticket,
  protocol: z.literal(PROTOCOL).describe('Subprotocol of the socket.'),
  expires_at: z.int().describe('End of the session, Unix milliseconds.'),
  heartbeat_seconds: z.literal(HEARTBEAT).describe('Seconds between pings.'),
  max_subscriptions: z.literal(MAX_ATTACHED).describe('Subscriptions of one socket.'),
});
