import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { ConversationId } from '../../src/core/ids.js';
import { ServiceText } from '../../src/core/texts.js';
import { data, defineTool, ofWebsite } from '../../src/core/tool.js';
import { Time } from '../../src/core/view.js';
import { trimmed, writtenText } from '../../src/views/written.js';
import { SetDisposition } from '../../src/writes/conversation-disposition-set.js';
export default defineTool({
    name: SetDisposition.name,
    title: 'Set a disposition',
    summary: 'Set the disposition of a conversation, and nothing else. A retry with the same key returns the first result.',
    rest: 'POST /api/v1/conversations/{conversation_id}/disposition',
    effect: 'write',
    performs: SetDisposition,
    tag: 'Conversations',
    scopes: ['conversation_read', 'conversation_update'],
    restrictions: 'applied',
    author: 'required',
    idempotency: 'required',
    emits: ['conversation.changed'],
    errors: ['enrollment_unavailable', 'native_unavailable', 'operation_conflict'],
    input: {
        path: { conversation_id: ConversationId.schema },
        query: ofWebsite,
        body: {
            disposition: example('resolved', writtenText(200).describe('Value of an enabled disposition, from dispositions. Spaces at the start and at the end are ignored.')),
        },
    },
    output: data({
        success: z
            .literal(true)
            .describe('Result of the write. Always true: the conversation has the disposition of the request. Nothing else has changed.'),
        disposition: example('resolved', ServiceText.describe('The disposition that the write has set.')),
        updated_at: Time.nullable().describe('Time of the change. A repeated call tells the first. Null if a helpdesk made the write, or an older gateway.'),
    }),
    async handle({ input: { conversation_id, disposition }, perform }) {
        const value = trimmed(disposition);
        const { updated_at = null } = await perform({ conversation: conversation_id, disposition: value });
        return { data: { success: true, disposition: value, updated_at } };
    },
});
//# sourceMappingURL=conversation-disposition-set.js.map