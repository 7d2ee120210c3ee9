import { z } from 'zod';
import { rfc3339 } from '../core/view.ts';
import { defineWrite } from '../core/writes.ts';
import { VisitorView } from '../views/visitor.ts';

export const AddNote = defineWrite<{ visitor: string; text: string }>()({
  name: 'visitor_note_add',
  about: ['visitor', VisitorView],
  result: z.object({ note_id: z.int(), author: z.string(), created_at: z.string().transform(rfc3339) }),
  writer: 'platform.add_notes',
});
