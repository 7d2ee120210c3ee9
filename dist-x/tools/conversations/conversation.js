import { ConversationId } from '../../src/core/ids.js';
import { coverage, data, defineTool, ofWebsite } from '../../src/core/tool.js';
import { ConversationView } from '../../src/views/conversation.js';
export default defineTool({
    name: 'conversation',
    title: 'Read a conversation',
    summary: 'One stored conversation: status, platform, assignment and times, and subject and rating if granted. conversation_brief adds names.',
    rest: 'GET /api/v1/conversations/{conversation_id}',
    effect: 'read',
    tag: 'Conversations',
    scopes: ['conversation_read'],
    restrictions: 'applied',
    input: { path: { conversation_id: ConversationId.schema }, query: ofWebsite },
    output: data({
        conversation: ConversationView.schema.describe('The conversation.'),
        coverage: coverage('persisted_conversations'),
    }),
    async handle({ input, read }) {
        const conversation = await read.one(ConversationView, input.conversation_id);
        return { data: { conversation, coverage: 'persisted_conversations' } };
    },
});
//# sourceMappingURL=conversation.js.map