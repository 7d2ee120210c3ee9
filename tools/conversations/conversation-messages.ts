import { z } from 'zod';
import { example } from '../../src/core/example.ts';
import { ConversationId, MessageId } from '../../src/core/ids.ts';
import { INT } from '../../src/core/scopes.ts';
import { coverage, data, defineTool, listOf, NextCursor, ofWebsite } from '../../src/core/tool.ts';
import { ConversationView } from '../../src/views/conversation.ts';
import { IncludeInternal, MessageView, publicOnly } from '../../src/views/message.ts';

export default defineTool({
  name: 'conversation_messages',
  title: 'List messages of a conversation',
  summary: 'Stored messages with their text, newest first. With order asc, oldest first.',
  rest: 'GET /api/v1/conversations/{conversation_id}/messages',
  effect: 'read',
  tag: 'Conversations',
  scopes: ['conversation_read', 'message_content_read', 'contact_read_pii'],
  dataAccess: ['message_content', 'pii'],
  restrictions: 'applied',
  when: [{ given: 'include_internal', is: true, ...INT }],
  page: { cursor: MessageId, limit: 50 },
  input: {
    path: { conversation_id: ConversationId.schema },
    query: {
      ...ofWebsite,
      include_internal: IncludeInternal,
      order: z
        .enum(['desc', 'asc'])
        .default('desc')
        .describe('Newest or oldest first. desc: the newest message comes first. asc: the oldest message comes first.'),
    },
  },
  output: data({
    conversation_id: ConversationId.schema,
    messages: listOf(MessageView.schema).describe('Messages of the conversation, in the requested order.'),
    next_cursor: NextCursor,
    include_internal: example(false, z.boolean().describe('True if the request asked for internal messages.')),
    coverage: coverage('persisted_messages'),
  }),
  async handle({ input, read }) {
    const { conversation_id, include_internal, cursor, limit, order: direction } = input;
    const within = [{ view: ConversationView, id: conversation_id }] as const;
    const where = include_internal ? [] : [publicOnly];
    const { rows, next_cursor } = await read.page(MessageView, { within, where, cursor, limit, direction });
    return { data: { conversation_id, messages: rows, next_cursor, include_internal, coverage: 'persisted_messages' } };
  },
});
