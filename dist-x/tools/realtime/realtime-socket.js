import { z } from 'zod';
import { Failure } from '../../src/core/failures.js';
import { RealtimeSessionId } from '../../src/core/ids.js';
import { defineTool } from '../../src/core/tool.js';
export default defineTool({
    name: 'realtime_socket',
    title: 'Open the realtime socket',
    summary: 'Open a WebSocket that streams pages of receipts. Send the ticket in Sec-WebSocket-Protocol. Do not send a bearer token.',
    rest: 'GET /api/v1/realtime/sessions/{session_id}/socket',
    effect: 'read',
    upgrade: 'websocket',
    tag: 'Realtime',
    scopes: ['website_read', 'event_read'],
    restrictions: 'refused',
    consent: 'refused',
    mcp: false,
    origin: 'required',
    errors: ['upgrade_required'],
    input: { path: { session_id: RealtimeSessionId } },
    output: z.strictObject({}),
    // A request to upgrade to WebSocket never reaches this handler.
    async handle() {
        throw new Failure('upgrade_required');
    },
});
//# sourceMappingURL=realtime-socket.js.map