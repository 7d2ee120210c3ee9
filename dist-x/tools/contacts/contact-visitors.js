import { ContactId, VisitorId } from '../../src/core/ids.js';
import { coverage, data, defineTool, listOf, NextCursor, ofWebsite } from '../../src/core/tool.js';
import { ContactView } from '../../src/views/contact.js';
import { VisitorView } from '../../src/views/visitor.js';
export default defineTool({
    name: 'contact_visitors',
    title: 'List visitors of a contact',
    summary: 'Stored visitors that are linked to a contact, newest first.',
    rest: 'GET /api/v1/contacts/{contact_id}/visitors',
    effect: 'read',
    tag: 'Contacts',
    scopes: ['contact_read', 'contact_read_pii', 'conversation_read'],
    dataAccess: ['pii'],
    restrictions: 'applied',
    page: { cursor: VisitorId, limit: 25 },
    input: { path: { contact_id: ContactId.schema }, query: ofWebsite },
    output: data({
        contact_id: ContactId.schema,
        visitors: listOf(VisitorView.schema).describe('Visitors that are linked to the contact. The newest visitor comes first.'),
        next_cursor: NextCursor,
        coverage: coverage('persisted_contact_visitors'),
    }),
    async handle({ input, read }) {
        const { rows, next_cursor } = await read.page(VisitorView, {
            within: [{ view: ContactView, id: input.contact_id }],
            cursor: input.cursor,
            limit: input.limit,
        });
        return {
            data: { contact_id: input.contact_id, visitors: rows, next_cursor, coverage: 'persisted_contact_visitors' },
        };
    },
});
//# sourceMappingURL=contact-visitors.js.map