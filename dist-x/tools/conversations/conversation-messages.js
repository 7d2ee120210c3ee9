import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { ConversationId, MessageId } from '../../src/core/ids.js';
import { INT } from '../../src/core/scopes.js';
import { coverage, data, defineTool, listOf, NextCursor, ofWebsite } from '../../src/core/tool.js';
import { ConversationView } from '../../src/views/conversation.js';
import { IncludeInternal, MessageView, publicOnly } from '../../src/views/message.js';
export default defineTool({
    name: 'conversation_messages',
    title: 'List messages of a conversation',
    summary: 'Stored messages with their text, newest first. With order asc, oldest first.',
    rest: 'GET /api/v1/conversations/{conversation_id}/messages',
    effect: 'read',
    tag: 'Conversations',
    scopes: ['conversation_read', 'message_content_read', 'contact_read_pii'],
    dataAccess: ['message_content', 'pii'],
    restrictions: 'applied',
    when: [{ given: 'include_internal', is: true, ...INT }],
    page: { cursor: MessageId, limit: 50 },
    input: {
        path: { conversation_id: ConversationId.schema },
        query: {
            ...ofWebsite,
            include_internal: IncludeInternal,
            order: z
                .enum(['desc', 'asc'])
                .default('desc')
                .describe('Newest or oldest first. desc: the newest message comes first. asc: the oldest message comes first.'),
        },
    },
    output: data({
        conversation_id: ConversationId.schema,
        messages: listOf(MessageView.schema).describe('Messages of the conversation, in the requested order.'),
        next_cursor: NextCursor,
        include_internal: example(false, z.boolean().describe('True if the request asked for internal messages.')),
        coverage: coverage('persisted_messages'),
    }),
    async handle({ input, read }) {
        const { conversation_id, include_internal, cursor, limit, order } = input;
        const { rows, next_cursor } = await read.page(MessageView, {
            within: [{ view: ConversationView, id: conversation_id }],
            where: include_internal ? [] : [publicOnly],
            cursor,
            limit,
            direction: order,
        });
        return { data: { conversation_id, messages: rows, next_cursor, include_internal, coverage: 'persisted_messages' } };
    },
});
//# sourceMappingURL=conversation-messages.js.map