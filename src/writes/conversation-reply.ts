import { z } from 'zod';
import { defineWrite } from '../core/writes.ts';
import { ConversationView } from '../views/conversation.ts';
import { ChangeTime } from '../views/written.ts';

export const AddReply = defineWrite<{
  conversation: string;
  text: string;
  visibility: 'public' | 'internal';
  if_updated_at?: string | undefined;
}>()({
  name: 'conversation_reply',
  about: ['conversation', ConversationView],
  result: z.object({ message_id: z.int(), updated_at: ChangeTime }),
  writer: 'platform.add_replies',
});
