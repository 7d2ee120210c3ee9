import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { Rfc3339Time } from '../../src/core/rfc3339.js';
import { data, defineTool, ofWebsite } from '../../src/core/tool.js';
import { Status } from '../../src/views/conversation.js';
import { changedConversation, ifUnchanged, misfit, ofConversation } from '../../src/views/written.js';
import { SET_STATUSES, SetStatus } from '../../src/writes/conversation-status-set.js';
export default defineTool({
    name: SetStatus.name,
    title: 'Set the status of a conversation',
    summary: 'Open, snooze or close a conversation, or set it to pending. Its operator and its team stay.',
    rest: 'POST /api/v1/conversations/{conversation_id}/status',
    effect: 'write',
    performs: SetStatus,
    policy: 'required',
    tag: 'Conversations',
    scopes: ['conversation_read', 'conversation_update'],
    restrictions: 'applied',
    author: 'required',
    idempotency: 'required',
    emits: ['conversation.changed'],
    errors: ['enrollment_unavailable', 'native_unavailable', 'operation_conflict'],
    input: {
        path: ofConversation,
        query: ofWebsite,
        body: {
            status: example('closed', z.enum(SET_STATUSES).describe('New status. open: assigned or unassigned, as the conversation has an operator.')),
            until: Rfc3339Time.optional().describe('With snoozed: when the helpdesk opens the conversation again, in the future. Only for websites that follow one.'),
            ...ifUnchanged,
        },
    },
    output: data({
        ...changedConversation,
        status: example('closed', Status.describe('Status after the write.')),
        operator_changed: z
            .literal(true)
            .optional()
            .describe('Present if the helpdesk gave the conversation another operator, and the gateway could not undo that.'),
    }),
    async handle({ input: { conversation_id, status, until, if_updated_at }, perform }) {
        if (until !== undefined && status !== 'snoozed')
            throw misfit('until', 'no time, because the status is not snoozed');
        const done = await perform({ conversation: conversation_id, status, until, if_updated_at });
        const changed = done.reassigned === true && { operator_changed: true };
        return { data: { success: true, status: done.status, updated_at: done.updated_at, ...changed } };
    },
});
//# sourceMappingURL=conversation-status-set.js.map