import { z } from 'zod';
import { RealtimeSessionId } from '../core/ids.ts';
import { HEARTBEAT, MAX_ATTACHED, PROTOCOL, type RealtimeSession, type RealtimeTicket } from '../core/realtime.ts';
import { ServiceText } from '../core/texts.ts';

const ticket = {
  ticket: ServiceText.describe(
    'Ticket that opens the WebSocket once. Offer the subprotocol ticket.TICKET, where TICKET is this value.',
  ),
  ticket_expires_at: z.int().describe('Time at which the ticket expires, in Unix milliseconds.'),
  socket_url: ServiceText.describe('URL of the WebSocket.'),
};

export const RealtimeTicketView: z.ZodType<RealtimeTicket, RealtimeTicket> = z.strictObject(ticket);

export const RealtimeSessionView: z.ZodType<RealtimeSession, RealtimeSession> = z.strictObject({
  session_id: RealtimeSessionId,
  ...ticket,
  protocol: z
    .literal(PROTOCOL)
    .describe('Name of the WebSocket subprotocol that the client offers in addition to the ticket.'),
  expires_at: z.int().describe('Time at which the session ends, in Unix milliseconds.'),
  heartbeat_seconds: z
    .literal(HEARTBEAT)
    .describe('Seconds between two pings that the gateway sends on the WebSocket.'),
  max_subscriptions: z.literal(MAX_ATTACHED).describe('Largest number of subscriptions that one WebSocket can attach.'),
});
