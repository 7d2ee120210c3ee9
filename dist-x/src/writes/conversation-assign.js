import { z } from 'zod';
import { defineWrite } from '../core/writes.js';
import { ConversationView } from '../views/conversation.js';
import { ChangeTime } from '../views/written.js';
/** With neither an operator nor a team, the write clears the operator. */
export const AssignConversation = defineWrite()({
    name: 'conversation_assign',
    about: ['conversation', ConversationView],
    result: z.object({ operator: z.string().nullable(), team: z.string().nullable(), updated_at: ChangeTime }),
    writer: 'platform.assign_conversations',
});
//# sourceMappingURL=conversation-assign.js.map