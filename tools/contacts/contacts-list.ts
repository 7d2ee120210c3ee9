import { z } from 'zod';
import { ContactId } from '../../src/core/ids.ts';
import { PII } from '../../src/core/scopes.ts';
import { coverage, data, defineTool, inWebsite, listOf, NextCursor } from '../../src/core/tool.ts';
import { ContactView, SEARCH_FIELDS, searchContacts } from '../../src/views/contact.ts';

export default defineTool({
  name: 'contacts_list',
  title: 'List or search contacts',
  summary: 'Stored contacts of a website, newest first. Search name, email, mobile or phone by prefix or whole value.',
  rest: 'GET /api/v1/contacts',
  effect: 'read',
  tag: 'Contacts',
  scopes: ['contact_read'],
  restrictions: 'refused',
  when: [{ given: 'query', ...PII }],
  page: { cursor: ContactId, limit: 25 },
  input: {
    query: {
      ...inWebsite,
      query: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('Text to find, case-sensitive. No character is a wildcard. Absent: the list has all contacts.'),
      query_field: z
        .enum(['all', ...SEARCH_FIELDS])
        .default('all')
        .describe('Field to search. The value all searches name, email, mobile and phone.'),
      query_match: z
        .enum(['prefix', 'exact'])
        .default('prefix')
        .describe('Kind of match. prefix: the field starts with the text. exact: the field equals the text.'),
    },
  },
  output: data({
    data: listOf(ContactView.schema).describe('Contacts of the website. The newest contact comes first.'),
    next_cursor: NextCursor,
    coverage: coverage('stored_primary_contacts'),
  }),
  async handle({ input, read }) {
    const { query, query_field, query_match, cursor, limit } = input;
    const where = query === undefined ? [] : [searchContacts(query, query_field, query_match)];
    // The best plan of a search by prefix depends on how many contacts the prefix has.
    const alone = query !== undefined && query_match === 'prefix';
    const { rows, next_cursor } = await read.page(ContactView, { where, cursor, limit, alone });
    return { data: { data: rows, next_cursor, coverage: 'stored_primary_contacts' } };
  },
});
