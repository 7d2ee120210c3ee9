import { ConversationId, MessageId } from '../../src/core/ids.js';
import { INT } from '../../src/core/scopes.js';
import { coverage, data, defineTool, ofWebsite } from '../../src/core/tool.js';
import { ConversationView } from '../../src/views/conversation.js';
import { IncludeInternal, MessageView, publicOnly } from '../../src/views/message.js';
export default defineTool({
    name: 'conversation_message',
    title: 'Read a message',
    summary: 'One stored message with its text. An internal message needs include_internal.',
    rest: 'GET /api/v1/conversations/{conversation_id}/messages/{message_id}',
    effect: 'read',
    tag: 'Conversations',
    scopes: ['conversation_read', 'message_content_read', 'contact_read_pii'],
    dataAccess: ['message_content', 'pii'],
    restrictions: 'applied',
    when: [{ given: 'include_internal', is: true, ...INT }],
    input: {
        path: { conversation_id: ConversationId.schema, message_id: MessageId.schema },
        query: { ...ofWebsite, include_internal: IncludeInternal },
    },
    output: data({ message: MessageView.schema.describe('The message.'), coverage: coverage('persisted_messages') }),
    async handle({ input, read }) {
        const message = await read.one(MessageView, input.message_id, {
            within: [{ view: ConversationView, id: input.conversation_id }],
            where: input.include_internal ? [] : [publicOnly],
        });
        return { data: { message, coverage: 'persisted_messages' } };
    },
});
//# sourceMappingURL=conversation-message.js.map