import { plain, write } from '../../support/authority/row.js';
export default write({
    path: '/conversations/{cnv:1}/disposition',
    scopes: ['conversation_read', 'conversation_update'],
    ofConversation: true,
    subject: ['conversation_id', 'cnv'],
    body: () => ({ disposition: 'settled' }),
    author: true,
    receipts: ['conversation.changed'],
    notes: 0,
    members: { data: plain('success', 'disposition', 'updated_at') },
});
//# sourceMappingURL=conversation-disposition-set.js.map