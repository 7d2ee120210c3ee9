import { z } from 'zod';
import { RealtimeSessionId } from '../core/ids.ts';
import { HEARTBEAT, MAX_ATTACHED, PROTOCOL, type RealtimeSession, type RealtimeTicket } from '../core/realtime.ts';
import { ServiceText } from '../core/texts.ts';

const ticket = {
  ticket: ServiceText.describe('Ticket that opens the socket once, sent as the subprotocol ticket.TICKET.'),
  ticket_expires_at: z.int().describe('When the ticket expires, in Unix milliseconds.'),
  socket_url: ServiceText.describe('URL of the socket.'),
};

export const RealtimeTicketView: z.ZodType<RealtimeTicket, RealtimeTicket> = z.strictObject(ticket);

export const RealtimeSessionView: z.ZodType<RealtimeSession, RealtimeSession> = z.strictObject({
  session_id: RealtimeSessionId,
  ...ticket,
  protocol: z.literal(PROTOCOL).describe('Subprotocol that the client offers beside the ticket.'),
  expires_at: z.int().describe('When the session ends, in Unix milliseconds.'),
  heartbeat_seconds: z.literal(HEARTBEAT).describe('Seconds between two pings.'),
  max_subscriptions: z.literal(MAX_ATTACHED).describe('Most subscriptions that one socket can attach.'),
});
