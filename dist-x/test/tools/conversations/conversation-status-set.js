import { plain, writeByPolicy } from '../../support/authority/row.js';
export default writeByPolicy({
    path: '/conversations/{cnv:1}/status',
    scopes: ['conversation_read', 'conversation_update'],
    ofConversation: true,
    subject: ['conversation_id', 'cnv'],
    body: () => ({ status: 'pending' }),
    author: true,
    receipts: ['conversation.changed'],
    notes: 0,
    members: { data: plain('success', 'status', 'updated_at') },
});
//# sourceMappingURL=conversation-status-set.js.map