import { ConversationId, FileId, MessageId } from '../../src/core/ids.ts';
import { INT } from '../../src/core/scopes.ts';
import { coverage, data, defineTool, listOf, NextCursor, ofWebsite } from '../../src/core/tool.ts';
import { ConversationView } from '../../src/views/conversation.ts';
import { FileView } from '../../src/views/file.ts';
import { IncludeInternal, MessageView, publicOnly } from '../../src/views/message.ts';

export default defineTool({
  name: 'conversation_message_attachments',
  title: 'List attachments of a message',
  summary: 'Metadata of the files attached to one stored message, newest first.',
  rest: 'GET /api/v1/conversations/{conversation_id}/messages/{message_id}/attachments',
  effect: 'read',
  tag: 'Files',
  scopes: ['file_read', 'conversation_read', 'message_content_read', 'contact_read_pii'],
  dataAccess: ['message_content', 'pii'],
  restrictions: 'applied',
  when: [{ given: 'include_internal', is: true, ...INT }],
  page: { cursor: FileId, limit: 25 },
  input: {
    path: { conversation_id: ConversationId.schema, message_id: MessageId.schema },
    query: { ...ofWebsite, include_internal: IncludeInternal },
  },
  output: data({
    conversation_id: ConversationId.schema,
    message_id: MessageId.schema,
    attachments: listOf(FileView.schema).describe('Files of the message. The newest file comes first.'),
    next_cursor: NextCursor,
    coverage: coverage('persisted_message_attachments'),
  }),
  async handle({ input, read }) {
    const { conversation_id, message_id, include_internal, cursor, limit } = input;
    const within = [
      { view: ConversationView, id: conversation_id },
      { view: MessageView, id: message_id, where: include_internal ? [] : [publicOnly] },
    ] as const;
    const { rows, next_cursor } = await read.page(FileView, { within, cursor, limit });
    const coverage = 'persisted_message_attachments';
    return { data: { conversation_id, message_id, attachments: rows, next_cursor, coverage } };
  },
});
