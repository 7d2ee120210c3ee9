import { z } from 'zod';
import { defineWrite } from '../core/writes.js';
import { ConversationView, Status } from '../views/conversation.js';
import { ChangeTime } from '../views/written.js';
/** The statuses that a write sets. An open conversation is `assigned` or `unassigned`. */
export const SET_STATUSES = ['open', 'pending', 'snoozed', 'closed'];
export const SetStatus = defineWrite()({
    name: 'conversation_status_set',
    about: ['conversation', ConversationView],
    // `reassigned` is true if a helpdesk gave the conversation another operator, and that operator stays.
    result: z.object({ status: Status, updated_at: ChangeTime, reassigned: z.boolean().optional() }),
    writer: 'platform.set_statuses',
});
//# sourceMappingURL=conversation-status-set.js.map