import { WebsiteId } from '../../src/core/ids.js';
import { defineTool } from '../../src/core/tool.js';
import { RealtimeSessionView } from '../../src/views/realtime-session.js';
import { unique } from '../../src/views/subscription.js';
export default defineTool({
    name: 'realtime_session_create',
    title: 'Create a realtime session',
    summary: 'Create a session of at most one hour for the Origin of the request. The answer has a ticket that opens the WebSocket.',
    rest: 'POST /api/v1/realtime/sessions',
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
    errors: ['inventory_limit'],
    input: {
        body: {
            website_ids: unique(WebsiteId, 50)
                .optional()
                .describe('Ids of 1 to 50 granted websites. Absent: all granted websites.'),
        },
    },
    output: RealtimeSessionView,
    handle: ({ input, write }) => write.createSession(input.website_ids),
});
//# sourceMappingURL=realtime-session-create.js.map