import { z } from 'zod';
import { commaList } from '../../src/core/accepted-values.js';
import { meets } from '../../src/core/authority.js';
import { example } from '../../src/core/example.js';
import { Rfc3339Time } from '../../src/core/rfc3339.js';
import { both, INT } from '../../src/core/scopes.js';
import { askedKinds, readQuery, SAID, SAID_NEEDS, SearchQuery } from '../../src/core/search.js';
import { anyWebsite, defineTool, NextCursor } from '../../src/core/tool.js';
import { PARTS } from '../../src/views/brief.js';
import { Corrected, Hit, hitOf } from '../../src/views/hit.js';
import { AUTHORS } from '../../src/views/message.js';
export default defineTool({
    name: 'search',
    title: 'Search what was said',
    summary: 'Find messages, subjects, notes and contact names by words. Send an id to fetch. A page with a next_cursor can be empty.',
    rest: 'GET /api/v1/search',
    effect: 'read',
    tag: 'Search',
    scopes: [],
    restrictions: 'applied',
    when: [
        ...SAID.map((kind) => ({ given: 'kinds', has: kind, leftOut: true, ...SAID_NEEDS[kind] })),
        { given: 'include_internal', is: true, ...both(SAID_NEEDS.messages, INT) },
    ],
    cost: 2,
    page: { cursor: z.string().min(1).max(200), limit: 10, max: 50 },
    input: {
        query: {
            query: SearchQuery,
            ...anyWebsite,
            kinds: commaList(SAID)
                .optional()
                .describe(`Comma-separated: ${SAID.join(', ')}. Absent: all of them.`),
            author: commaList(AUTHORS)
                .optional()
                .describe(`Comma-separated: ${AUTHORS.join(', ')}. Only their messages. Absent: all texts.`),
            per: z
                .enum(['conversation', 'message'])
                .default('conversation')
                .describe('One hit for each conversation or message.'),
            include_internal: z
                .boolean()
                .default(false)
                .describe('Search internal messages too. Also needs the scope internal_notes_read and the data access internal_notes.'),
            created_from: Rfc3339Time.optional().describe('Written at or after this time. RFC 3339, UTC.'),
            created_to: Rfc3339Time.optional().describe('Written before this time. RFC 3339, UTC.'),
            order: z
                .enum(['best', 'newest'])
                .default('best')
                .describe('best (among the newest texts first) or newest (newest first).'),
        },
    },
    output: z.strictObject({
        results: z
            .array(Hit)
            .max(50)
            .describe('Texts that match. With per=conversation, all messages of a conversation are one hit. A page can be empty although more pages follow.'),
        left_out: example(['notes'], z.array(z.enum(SAID)).describe('Kinds that were asked for but are not granted to the credential.')),
        corrected: z
            .array(Corrected)
            .max(3)
            .optional()
            .describe('Words that were searched with other spellings too. Absent: none.'),
        next_cursor: NextCursor.describe('Cursor of the next page. Null if this page is the last page. Continue after an empty page with a cursor.'),
    }),
    async handle({ input, authority, read, gateway }) {
        const asked = askedKinds(input);
        const kinds = asked.filter((kind) => meets(authority, SAID_NEEDS[kind]));
        const websites = [...authority.websites.values()].filter(({ id: website }) => input.website_id === undefined || website === input.website_id);
        const { hits, corrected, next_cursor } = await read.search({
            groups: readQuery(input.query),
            kinds,
            websites,
            includeInternal: input.include_internal,
            authors: input.author?.split(','),
            each: input.per === 'message',
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
//# sourceMappingURL=search.js.map