import { z } from 'zod';
import { defineWrite } from '../core/writes.ts';
import { ConversationView } from '../views/conversation.ts';

export const SetDisposition = defineWrite<{ conversation: string; disposition: string }>()({
  name: 'conversation_disposition_set',
  about: ['conversation', ConversationView],
  result: z.object({}),
  writer: 'platform.set_dispositions',
});
