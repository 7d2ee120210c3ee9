import { RealtimeSessionId } from '../../src/core/ids.js';
import { defineTool } from '../../src/core/tool.js';
import { RealtimeTicketView } from '../../src/views/realtime-session.js';
export default defineTool({
    name: 'realtime_ticket_create',
    title: 'Issue a reconnect ticket',
    summary: 'Issue a new ticket for the WebSocket of a session. An older unused ticket ends. The body is an empty object.',
    rest: 'POST /api/v1/realtime/sessions/{session_id}/tickets',
    effect: 'write',
    tag: 'Realtime',
    scopes: ['website_read', 'event_read'],
    restrictions: 'refused',
    consent: 'refused',
    mcp: false,
    origin: 'required',
    author: 'none',
    idempotency: 'none',
    status: 201,
    emits: [],
    input: { path: { session_id: RealtimeSessionId }, body: {} },
    output: RealtimeTicketView,
    handle: ({ input, write }) => write.createTicket(input.session_id),
});
//# sourceMappingURL=realtime-ticket-create.js.map