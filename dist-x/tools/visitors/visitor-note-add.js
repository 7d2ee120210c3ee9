import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { VisitorId } from '../../src/core/ids.js';
import { data, defineTool, ofWebsite } from '../../src/core/tool.js';
import { clip, Time } from '../../src/core/view.js';
import { NoteAddedSchema } from '../../src/views/note.js';
import { writtenText } from '../../src/views/written.js';
import { AddNote } from '../../src/writes/visitor-note-add.js';
export default defineTool({
    name: AddNote.name,
    title: 'Add a visitor note',
    summary: 'Add an internal note to a visitor with a conversation, as the mapped operator. A retry with the same key returns the same note.',
    rest: 'POST /api/v1/visitors/{visitor_id}/notes',
    effect: 'write',
    performs: AddNote,
    tag: 'Visitors',
    scopes: ['conversation_read', 'visitor_notes_write', 'message_content_read', 'contact_read_pii'],
    dataAccess: ['message_content', 'pii', 'internal_notes'],
    restrictions: 'refused',
    author: 'required',
    idempotency: 'required',
    emits: ['visitor.changed'],
    errors: ['enrollment_unavailable', 'native_unavailable', 'operation_conflict'],
    input: {
        // A note needs a visitor with a conversation. The numbers of the demo's visitors depend on the time of the load.
        // Visitor 60 had a conversation at each of 150 times.
        path: { visitor_id: example('vis_1_1_60', VisitorId.schema) },
        query: ofWebsite,
        body: {
            text: example('Asked for a refund on order 1042.', writtenText(4000).describe('Text of the note, 1 to 4,000 UTF-16 code units. The text must not be blank. The gateway stores the text unchanged.')),
        },
    },
    output: data({
        success: z.literal(true).describe('Result of the write. Always true: the note is stored.'),
        visitor_id: example('vis_1_1_60', VisitorId.schema),
        note: NoteAddedSchema.describe('The new note, as stored.'),
        updated_at: Time.describe('Time at which the notes of the visitor changed: that of the new note.'),
    }),
    async handle({ input: { visitor_id, text }, perform }) {
        const { note_id, author, created_at } = await perform({ visitor: visitor_id, text });
        const note = { id: String(note_id), note_id, text, title: null, author: clip(author, 120), created_at };
        return { data: { success: true, visitor_id, note, updated_at: created_at } };
    },
});
//# sourceMappingURL=visitor-note-add.js.map