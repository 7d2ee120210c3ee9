import { z } from 'zod';
import { RealtimeSessionId } from '../../src/core/ids.js';
import { defineTool } from '../../src/core/tool.js';
export default defineTool({
    name: 'realtime_session_close',
    title: 'Close a realtime session',
    summary: 'End a session. The WebSocket of the session closes within two seconds, on any server.',
    rest: 'DELETE /api/v1/realtime/sessions/{session_id}',
    effect: 'write',
    tag: 'Realtime',
    scopes: ['website_read', 'event_read'],
    restrictions: 'refused',
    consent: 'refused',
    mcp: false,
    origin: 'required',
    author: 'none',
    idempotency: 'none',
    status: 204,
    emits: [],
    input: { path: { session_id: RealtimeSessionId } },
    output: z.strictObject({}),
    async handle({ input, write }) {
        await write.closeSession(input.session_id);
        return {};
    },
});
//# sourceMappingURL=realtime-session-close.js.map