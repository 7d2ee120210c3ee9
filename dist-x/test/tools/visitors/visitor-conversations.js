import { CONVERSATION, said, stored } from '../../support/authority/records.js';
import { plain, reads, through } from '../../support/authority/row.js';
export default reads({
    path: '/dashboard/visitors/{vis:1}/conversations',
    scopes: ['conversation_read'],
    ofConversation: true,
    members: {
        data: plain('visitor_id', 'conversations', 'next_cursor', 'coverage'),
        'data.conversations.*': CONVERSATION,
    },
    list: ['data.conversations', 'id', through([2, 1], [1])],
    cursor: 'cnv',
    shows: [stored.conversation(1, 2)],
    outsiders: said.conversation('/data/conversations/*'),
    configured: ['/data/conversations/*/disposition'],
});
//# sourceMappingURL=visitor-conversations.js.map