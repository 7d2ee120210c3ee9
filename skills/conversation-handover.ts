import { z } from 'zod';
import { ConversationId } from '../src/core/ids.ts';
import { ARTIFACT_BYTES } from '../src/core/limits.ts';
import { defineSkill } from '../src/core/skill.ts';

/** Newest messages in the answer. Fewer are read again if the answer is too large for an artifact. */
const MESSAGES = [30, 10, 3, 1] as const;
/** Bytes that notes may keep while messages are left out: one long note. With the last message, they keep what is left. */
const NOTES_BYTES = 40_960;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Leaves out the oldest notes until the brief fits, or the notes have at most `kept` bytes. Says so in `left_out`. */
function dropNotes(brief: unknown, kept: number): void {
  const { notes = [], left_out } = Object(brief).data as { notes?: unknown[]; left_out: string[] }; // the body of conversation_brief
  let held = bytesOf(notes);
  let excess = bytesOf(brief) - ARTIFACT_BYTES;
  if (excess <= 0 || held <= kept || notes.length === 0) return;
  left_out.push('notes');
  excess += bytesOf('notes') + 1;
  while (excess > 0 && held > kept && notes.length > 0) {
    const bytes = bytesOf(notes.pop()) + 1;
    held -= bytes;
    excess -= bytes;
  }
}

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
      dropNotes(brief, messages === 1 ? 0 : NOTES_BYTES);
      if (bytesOf(brief) <= ARTIFACT_BYTES) break;
    }
    return brief;
  },
});
