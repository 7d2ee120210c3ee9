import { plain, writeByPolicy } from '../../support/authority/row.js';
export default writeByPolicy({
    path: '/conversations/{cnv:1}/assignment',
    scopes: ['conversation_read', 'conversation_update', 'directory_read'],
    ofConversation: true,
    subject: ['conversation_id', 'cnv'],
    body: () => ({ none: true }),
    author: true,
    receipts: ['conversation.changed'],
    notes: 0,
    members: { data: plain('success', 'operator_id', 'team_id', 'updated_at') },
});
//# sourceMappingURL=conversation-assign.js.map