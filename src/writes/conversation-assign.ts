import { z } from 'zod';
import { defineWrite } from '../core/writes.ts';
import { ConversationView } from '../views/conversation.ts';
import { ChangeTime } from '../views/written.ts';

/** With neither an operator nor a team, the write clears the operator. */
export const AssignConversation = defineWrite<{
  conversation: string;
  operator?: string;
  team?: string;
  if_updated_at?: string | undefined;
}>()({
  name: 'conversation_assign',
  about: ['conversation', ConversationView],
  result: z.object({ operator: z.string().nullable(), team: z.string().nullable(), updated_at: ChangeTime }),
  writer: 'platform.assign_conversations',
});
