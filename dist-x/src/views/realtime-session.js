import { z } from 'zod';
import { example } from '../core/example.js';
import { RealtimeSessionId } from '../core/ids.js';
import { named } from '../core/json-schema.js';
import { HEARTBEAT, MAX_ATTACHED, PROTOCOL, } from '../core/realtime-session.js';
import { ServiceText } from '../core/texts.js';
const ticket = {
    ticket: example('dGlja2V0LWZvci1vbmUtY29ubmVjdGlvbg', ServiceText.describe('Ticket that opens the WebSocket once. Offer the subprotocol ticket.TICKET, where TICKET is this value.')),
    ticket_expires_at: z.int().describe('Time at which the ticket expires, in Unix milliseconds.'),
    socket_url: example('wss://gateway.example/api/v1/realtime/sessions/rts_0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d/socket', ServiceText.describe('URL of the WebSocket.')),
};
export const RealtimeTicketView = named('RealtimeTicket', z.strictObject(ticket));
export const RealtimeSessionView = named('RealtimeSession', z.strictObject({
    session_id: RealtimeSessionId,
    ...ticket,
    protocol: z
        .literal(PROTOCOL)
        .describe('Name of the WebSocket subprotocol that the client offers in addition to the ticket.'),
    expires_at: z.int().describe('Time at which the session ends, in Unix milliseconds.'),
    heartbeat_seconds: z
        .literal(HEARTBEAT)
        .describe('Seconds between two pings that the gateway sends on the WebSocket.'),
    max_subscriptions: z
        .literal(MAX_ATTACHED)
        .describe('Largest number of subscriptions that one WebSocket can attach.'),
}));
//# sourceMappingURL=realtime-session.js.map