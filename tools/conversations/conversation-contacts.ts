import { ContactId, ConversationId } from '../../src/core/ids.ts';
import { coverage, data, defineTool, listOf, NextCursor, ofWebsite } from '../../src/core/tool.ts';
import { ContactView } from '../../src/views/contact.ts';
import { ConversationView } from '../../src/views/conversation.ts';

export default defineTool({
  name: 'conversation_contacts',
  title: 'List contacts of a conversation',
  summary: 'Stored contacts that take part in a conversation, newest first.',
  rest: 'GET /api/v1/conversations/{conversation_id}/contacts',
  effect: 'read',
  tag: 'Conversations',
  scopes: ['conversation_read', 'contact_read', 'contact_read_pii'],
  dataAccess: ['pii'],
  restrictions: 'applied',
  page: { cursor: ContactId, limit: 25 },
  input: { path: { conversation_id: ConversationId.schema }, query: ofWebsite },
  output: data({
    conversation_id: ConversationId.schema,
    contacts: listOf(ContactView.schema).describe(
      'Contacts that take part in the conversation. The newest contact comes first.',
    ),
    next_cursor: NextCursor,
    coverage: coverage('persisted_conversation_contacts'),
  }),
  async handle({ input: { conversation_id, cursor, limit }, read }) {
    const within = [{ view: ConversationView, id: conversation_id }] as const;
    const { rows, next_cursor } = await read.page(ContactView, { within, cursor, limit });
    return { data: { conversation_id, contacts: rows, next_cursor, coverage: 'persisted_conversation_contacts' } };
  },
});
