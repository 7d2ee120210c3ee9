import { ContactId } from '../../src/core/ids.js';
import { coverage, data, defineTool, listOf, NextCursor, ofWebsite } from '../../src/core/tool.js';
import { ContactView } from '../../src/views/contact.js';
import { NoteId, NoteView } from '../../src/views/note.js';
export default defineTool({
    name: 'contact_notes',
    title: 'List notes on a contact',
    summary: 'Operators’ notes on the visitors of a contact, newest first.',
    rest: 'GET /api/v1/contacts/{contact_id}/notes',
    effect: 'read',
    tag: 'Contacts',
    scopes: ['contact_read', 'contact_read_pii', 'conversation_read', 'visitor_notes_read'],
    dataAccess: ['message_content', 'pii', 'internal_notes'],
    restrictions: 'refused',
    page: { cursor: NoteId, limit: 25 },
    input: { path: { contact_id: ContactId.schema }, query: ofWebsite },
    output: data({
        contact_id: ContactId.schema,
        notes: listOf(NoteView.schema).describe('Notes on the visitors of the contact. The newest note comes first.'),
        next_cursor: NextCursor,
        coverage: coverage('persisted_contact_visitor_notes'),
    }),
    async handle({ input, read }) {
        const { rows, next_cursor } = await read.page(NoteView, {
            within: [{ view: ContactView, id: input.contact_id }],
            cursor: input.cursor,
            limit: input.limit,
        });
        return {
            data: { contact_id: input.contact_id, notes: rows, next_cursor, coverage: 'persisted_contact_visitor_notes' },
        };
    },
});
//# sourceMappingURL=contact-notes.js.map