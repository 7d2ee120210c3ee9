import { z } from 'zod';
import { example } from '../../src/core/example.ts';
import { ConversationId } from '../../src/core/ids.ts';
import { data, defineTool, ofWebsite } from '../../src/core/tool.ts';
import { trimmed, writtenText } from '../../src/views/written.ts';
import { SetDisposition } from '../../src/writes/conversation-disposition-set.ts';

export default defineTool({
  name: SetDisposition.name,
  title: 'Set a disposition',
  summary:
    'Set the disposition of a conversation, and nothing else. A retry with the same key returns the first result.',
  rest: 'POST /api/v1/conversations/{conversation_id}/disposition',
  effect: 'write',
  performs: SetDisposition,
  tag: 'Conversations',
  scopes: ['conversation_read', 'conversation_update'],
  restrictions: 'applied',
  author: 'required',
  idempotency: 'required',
  emits: ['conversation.changed'],
  errors: ['enrollment_unavailable', 'native_unavailable', 'operation_conflict'],
  input: {
    path: { conversation_id: ConversationId.schema },
    query: ofWebsite,
    body: {
      disposition: example(
        'resolved',
        writtenText(200).describe(
          'Value of an enabled disposition, from dispositions. Spaces at the start and at the end are ignored.',
        ),
      ),
    },
  },
  output: data({
    success: z
      .literal(true)
      .describe(
        'Result of the write. Always true: the conversation has the disposition of the request. Nothing else has changed.',
      ),
  }),
  async handle({ input: { conversation_id, disposition }, perform }) {
    await perform({ conversation: conversation_id, disposition: trimmed(disposition) });
    return { data: { success: true as const } };
  },
});
