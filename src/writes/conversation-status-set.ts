import { z } from 'zod';
import { defineWrite } from '../core/writes.ts';
import { ConversationView, Status } from '../views/conversation.ts';
import { ChangeTime } from '../views/written.ts';

/** The statuses that a write sets. An open conversation is `assigned` or `unassigned`. */
export const SET_STATUSES = ['open', 'pending', 'snoozed', 'closed'] as const;

export const SetStatus = defineWrite<{
  conversation: string;
  status: (typeof SET_STATUSES)[number];
  until?: string | undefined;
  if_updated_at?: string | undefined;
}>()({
  name: 'conversation_status_set',
  about: ['conversation', ConversationView],
  // `reassigned` is true if a helpdesk gave the conversation another operator, and that operator stays.
  result: z.object({ status: Status, updated_at: ChangeTime, reassigned: z.boolean().optional() }),
  writer: 'platform.set_statuses',
});
