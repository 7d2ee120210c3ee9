import { ContactId, VisitorId } from '../../src/core/ids.ts';
import { coverage, data, defineTool, listOf, NextCursor, ofWebsite } from '../../src/core/tool.ts';
import { ContactView } from '../../src/views/contact.ts';
import { VisitorView } from '../../src/views/visitor.ts';

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
    visitors: listOf(VisitorView.schema).describe(
      'Visitors that are linked to the contact. The newest visitor comes first.',
    ),
    next_cursor: NextCursor,
    coverage: coverage('persisted_contact_visitors'),
  }),
  async handle({ input: { contact_id, cursor, limit }, read }) {
    const within = [{ view: ContactView, id: contact_id }] as const;
    const { rows, next_cursor } = await read.page(VisitorView, { within, cursor, limit });
    return { data: { contact_id, visitors: rows, next_cursor, coverage: 'persisted_contact_visitors' } };
  },
});
