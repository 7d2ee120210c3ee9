import { VisitorId } from '../../src/core/ids.js';
import { coverage, data, defineTool, listOf, NextCursor, ofWebsite } from '../../src/core/tool.js';
import { NoteId, NoteView } from '../../src/views/note.js';
import { VisitorView } from '../../src/views/visitor.js';
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
        notes: listOf(NoteView.schema).describe('Notes on the visitor and on visitors with the same contact. The newest note comes first.'),
        next_cursor: NextCursor,
        coverage: coverage('persisted_visitor_notes'),
    }),
    async handle({ input, read }) {
        const { rows, next_cursor } = await read.page(NoteView, {
            within: [{ view: VisitorView, id: input.visitor_id }],
            cursor: input.cursor,
            limit: input.limit,
        });
        return { data: { visitor_id: input.visitor_id, notes: rows, next_cursor, coverage: 'persisted_visitor_notes' } };
    },
});
//# sourceMappingURL=visitor-notes.js.map