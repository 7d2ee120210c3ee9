import { z } from 'zod';
import { rfc3339 } from '../core/view.js';
import { defineWrite } from '../core/writes.js';
import { ConversationView } from '../views/conversation.js';
export const SetDisposition = defineWrite()({
    name: 'conversation_disposition_set',
    about: ['conversation', ConversationView],
    // Absent if a helpdesk made the write, or a gateway before 0024.
    result: z.object({ updated_at: z.string().transform(rfc3339).optional() }),
    writer: 'platform.set_dispositions',
});
//# sourceMappingURL=conversation-disposition-set.js.map