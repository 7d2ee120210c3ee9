import { z } from 'zod';
import { ConversationId } from '../core/ids.ts';
import { defineWrite } from '../core/writes.ts';
import { ConversationView } from '../views/conversation.ts';

export const SetDisposition = defineWrite({
  name: 'conversation_disposition_set',
  about: ['conversation', ConversationView],
  command: z.strictObject({ conversation: ConversationId.schema, disposition: z.string() }),
  result: z.object({}),
  writer: 'platform.set_dispositions',
});
