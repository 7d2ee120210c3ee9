import { CONVERSATION, said, stored } from '../../support/authority/records.js';
import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/conversations/{cnv:1}',
    scopes: ['conversation_read'],
    ofConversation: true,
    members: {
        data: plain('conversation', 'coverage'),
        'data.conversation': CONVERSATION,
        'data.conversation.access': plain('pii', 'message_content'),
    },
    shows: [stored.conversation(1)],
    outsiders: said.conversation('/data/conversation'),
    configured: ['/data/conversation/disposition'],
});
//# sourceMappingURL=conversation.js.map