import { z } from 'zod';
import { defineWrite } from '../core/writes.js';
import { ConversationView } from '../views/conversation.js';
import { ChangeTime } from '../views/written.js';
export const AddReply = defineWrite()({
    name: 'conversation_reply',
    about: ['conversation', ConversationView],
    result: z.object({ message_id: z.int(), updated_at: ChangeTime }),
    writer: 'platform.add_replies',
});
//# sourceMappingURL=conversation-reply.js.map