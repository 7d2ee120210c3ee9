import { z } from 'zod';
import { ConversationId } from '../src/core/ids.ts';
import { PLAIN_BYTES } from '../src/core/limits.ts';
import { defineSkill } from '../src/core/skill.ts';

/** Newest messages in the answer. Fewer are read again if the answer is too large for an artifact. */
const MESSAGES = [30, 10, 3, 1] as const;

export default defineSkill({
  name: 'conversation_handover',
  title: 'Hand over a conversation',
  description: 'What a colleague needs to take over: conversation, people, newest messages and notes, if granted.',
  tags: ['conversations', 'handover'],
  tools: ['conversation_brief'],
  input: z.strictObject({ conversation_id: ConversationId.schema }),
  examples: [{ conversation_id: 'cnv_1_1_11' }],
  async run({ input, call }) {
    let brief: unknown;
    for (const messages of MESSAGES) {
      brief = await call('conversation_brief', { ...input, messages });
      if (Buffer.byteLength(JSON.stringify(brief)) <= PLAIN_BYTES) break;
    }
    return brief;
  },
});
