import { CONVERSATION, said, stored } from '../../support/authority/records.ts';
import { plain, reads, through } from '../../support/authority/row.ts';

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
