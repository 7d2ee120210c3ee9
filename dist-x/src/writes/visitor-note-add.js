import { z } from 'zod';
import { rfc3339 } from '../core/view.js';
import { defineWrite } from '../core/writes.js';
import { VisitorView } from '../views/visitor.js';
export const AddNote = defineWrite()({
    name: 'visitor_note_add',
    about: ['visitor', VisitorView],
    result: z.object({ note_id: z.int(), author: z.string(), created_at: z.string().transform(rfc3339) }),
    writer: 'platform.add_notes',
});
//# sourceMappingURL=visitor-note-add.js.map