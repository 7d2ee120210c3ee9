import { ContactId } from '../../src/core/ids.ts';
import { coverage, data, defineTool, listOf, NextCursor, ofWebsite } from '../../src/core/tool.ts';
import { ContactView } from '../../src/views/contact.ts';
import { NoteId, NoteView } from '../../src/views/note.ts';

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
  async handle({ input: { contact_id, cursor, limit }, read }) {
    const within = [{ view: ContactView, id: contact_id }] as const;
    const { rows, next_cursor } = await read.page(NoteView, { within, cursor, limit });
    return { data: { contact_id, notes: rows, next_cursor, coverage: 'persisted_contact_visitor_notes' } };
  },
});
