import { VisitorId } from '../../src/core/ids.ts';
import { coverage, data, defineTool, listOf, NextCursor, ofWebsite } from '../../src/core/tool.ts';
import { NoteId, NoteView } from '../../src/views/note.ts';
import { VisitorView } from '../../src/views/visitor.ts';

export default defineTool({
  name: 'visitor_notes',
  title: 'List notes on a visitor',
  summary: 'Operators’ notes on a visitor and on visitors with the same contact, newest first.',
  rest: 'GET /api/v1/visitors/{visitor_id}/notes',
  effect: 'read',
  tag: 'Visitors',
  scopes: ['conversation_read', 'visitor_notes_read', 'contact_read_pii'],
  dataAccess: ['message_content', 'pii', 'internal_notes'],
  restrictions: 'refused',
  page: { cursor: NoteId, limit: 25 },
  input: { path: { visitor_id: VisitorId.schema }, query: ofWebsite },
  output: data({
    visitor_id: VisitorId.schema,
    notes: listOf(NoteView.schema).describe(
      'Notes on the visitor and on visitors with the same contact. The newest note comes first.',
    ),
    next_cursor: NextCursor,
    coverage: coverage('persisted_visitor_notes'),
  }),
  async handle({ input: { visitor_id, cursor, limit }, read }) {
    const within = [{ view: VisitorView, id: visitor_id }] as const;
    const { rows, next_cursor } = await read.page(NoteView, { within, cursor, limit });
    return { data: { visitor_id, notes: rows, next_cursor, coverage: 'persisted_visitor_notes' } };
  },
});
