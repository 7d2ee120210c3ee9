import { z } from 'zod';
import { ConversationId, MessageId } from '../src/core/ids.js';
import { defineSkill } from '../src/core/skill.js';
export default defineSkill({
    name: 'conversation_evidence',
    title: 'Collect evidence from a conversation',
    description: 'Public messages of one stored conversation, newest first. Each task returns one page.',
    tags: ['conversations', 'messages'],
    tools: ['conversation_messages'],
    input: z.strictObject({
        conversation_id: ConversationId.schema,
        limit: z
            .int()
            .min(1)
            .max(100)
            .default(50)
            .describe('Records per page. The range is 1 to 100, and the default is 50.'),
        cursor: MessageId.schema.optional().describe('The next_cursor of the previous artifact. Absent: the first page.'),
    }),
    examples: [{ conversation_id: 'cnv_1_1_11', limit: 50 }],
    run: ({ input, call }) => call('conversation_messages', input),
});
//# sourceMappingURL=conversation-evidence.js.map