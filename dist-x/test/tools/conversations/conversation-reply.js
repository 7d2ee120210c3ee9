import { plain, writeByPolicy } from '../../support/authority/row.js';
export default writeByPolicy({
    path: '/conversations/{cnv:1}/replies',
    scopes: ['conversation_read', 'conversation_update', 'message_content_read', 'contact_read_pii'],
    flags: ['message_content', 'pii'],
    given: { parameter: 'visibility', has: 'internal', scopes: ['internal_notes_read'], flags: ['internal_notes'] },
    ofConversation: true,
    subject: ['conversation_id', 'cnv'],
    body: () => ({ text: 'We have found your parcel.', visibility: 'internal' }),
    author: true,
    receipts: ['conversation.changed'],
    notes: 0,
    members: { data: plain('success', 'message_id', 'updated_at') },
});
//# sourceMappingURL=conversation-reply.js.map