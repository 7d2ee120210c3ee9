import { z } from 'zod';
import { accepts } from '../../src/core/accepted-values.ts';
import { meets } from '../../src/core/authority.ts';
import { example } from '../../src/core/example.ts';
import { Rfc3339Time } from '../../src/core/rfc3339.ts';
import { both, INT } from '../../src/core/scopes.ts';
import { readQuery, SAID, SAID_NEEDS, SearchQuery } from '../../src/core/search.ts';
import { writtenBy } from '../../src/core/texts.ts';
import { anyWebsite, defineTool, NextCursor } from '../../src/core/tool.ts';
import { PARTS } from '../../src/views/brief.ts';
import { Hit, hitOf } from '../../src/views/hit.ts';

const Kinds = accepts(
  z.string().regex(new RegExp(`^(${SAID.join('|')})(,(${SAID.join('|')})){0,3}$`)),
  `one or more of ${SAID.join(', ')}, with a comma between two`,
);

const Spelling = example('delivery', writtenBy('outsiders', z.string().max(20)));

export default defineTool({
  name: 'search',
  title: 'Search what was said',
  summary:
    'Find messages, subjects, notes and contact names by words. Send an id to fetch. A page with a next_cursor can be empty.',
  rest: 'GET /api/v1/search',
  effect: 'read',
  tag: 'Search',
  scopes: [],
  restrictions: 'applied',
  when: [
    ...SAID.map((kind) => ({ given: 'kinds', has: kind, leftOut: true as const, ...SAID_NEEDS[kind] })),
    { given: 'include_internal', is: true, ...both(SAID_NEEDS.messages, INT) },
  ],
  cost: 2,
  page: { cursor: z.string().min(1).max(200), limit: 10, max: 50 },
  input: {
    query: {
      query: SearchQuery,
      ...anyWebsite,
      kinds: Kinds.optional().describe(`Comma-separated: ${SAID.join(', ')}. Absent: all of them.`),
      include_internal: z
        .boolean()
        .default(false)
        .describe(
          'Search internal messages too. The value true needs what messages need, and the scope internal_notes_read and the data access internal_notes.',
        ),
      created_from: Rfc3339Time.optional().describe('Written at or after this RFC 3339 UTC time.'),
      created_to: Rfc3339Time.optional().describe('Written before this RFC 3339 UTC time.'),
      order: z
        .enum(['best', 'newest'])
        .default('best')
        .describe('Order: best (best matches among the newest texts first) or newest (newest text first).'),
    },
  },
  output: z.strictObject({
    results: z
      .array(Hit)
      .max(50)
      .describe(
        'Texts that match. A conversation appears once for all its messages. A page can be empty although more pages follow.',
      ),
    left_out: example(
      ['notes'],
      z.array(z.enum(SAID)).describe('Kinds that were asked for but are not granted to the credential.'),
    ),
    corrected: z
      .array(
        z.strictObject({
          word: example('delivry', Spelling.describe('Word of the query.')),
          used: z.array(Spelling).min(1).max(3).describe('Spellings in these results.'),
        }),
      )
      .max(3)
      .optional()
      .describe('Words that were searched with other spellings too. Absent: none.'),
    next_cursor: NextCursor.describe(
      'Cursor of the next page. Null if this page is the last page. Continue after an empty page with a cursor.',
    ),
  }),
  async handle({ input, authority, read, gateway }) {
    const asked = SAID.filter((kind) => input.kinds === undefined || input.kinds.split(',').includes(kind));
    const kinds = asked.filter((kind) => meets(authority, SAID_NEEDS[kind]));
    const websites = [...authority.websites.values()].filter(
      ({ id: website }) => input.website_id === undefined || website === input.website_id,
    );
    const { hits, corrected, next_cursor } = await read.search({
      groups: readQuery(input.query),
      kinds,
      websites,
      includeInternal: input.include_internal,
      from: input.created_from,
      to: input.created_to,
      order: input.order,
      people: meets(authority, PARTS.contacts),
      limit: input.limit,
      cursor: input.cursor,
    });
    const results = hits.map((hit) => hitOf(hit, gateway.page));
    return {
      results,
      left_out: asked.filter((kind) => !kinds.includes(kind)),
      ...(corrected.length > 0 && { corrected: corrected.map(({ word, used }) => ({ word, used: [...used] })) }),
      next_cursor,
    };
  },
});
