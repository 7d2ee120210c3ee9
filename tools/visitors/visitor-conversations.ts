import { ConversationId, VisitorId } from '../../src/core/ids.ts';
import { coverage, data, defineTool, listOf, NextCursor, ofWebsite } from '../../src/core/tool.ts';
import { ConversationView } from '../../src/views/conversation.ts';
import { VisitorView } from '../../src/views/visitor.ts';

export default defineTool({
  name: 'visitor_conversations',
  title: 'List conversations of a visitor',
  summary: 'Stored conversations of one visitor, newest first.',
  rest: 'GET /api/v1/dashboard/visitors/{visitor_id}/conversations',
  effect: 'read',
  tag: 'Visitors',
  scopes: ['conversation_read'],
  restrictions: 'applied',
  page: { cursor: ConversationId, limit: 25 },
  input: { path: { visitor_id: VisitorId.schema }, query: ofWebsite },
  output: data({
    visitor_id: VisitorId.schema,
    conversations: listOf(ConversationView.schema).describe(
      'Conversations of the visitor. The newest conversation comes first.',
    ),
    next_cursor: NextCursor,
    coverage: coverage('persisted_visitor_conversations'),
  }),
  async handle({ input: { visitor_id, cursor, limit }, read }) {
    const within = [{ view: VisitorView, id: visitor_id }] as const;
    const { rows, next_cursor } = await read.page(ConversationView, { within, cursor, limit });
    return { data: { visitor_id, conversations: rows, next_cursor, coverage: 'persisted_visitor_conversations' } };
  },
});
