import { z } from 'zod';
import { both, MSG, PII } from '../../src/core/scopes.js';
import { coverage, data, defineTool, inWebsite, listOf, NextCursor } from '../../src/core/tool.js';
import { ConversationView } from '../../src/views/conversation.js';
import { BY_CONTACT, BY_OPERATOR, byConversation, bySubject, conversationFilters, zoneOfDays, } from '../../src/views/conversation-filters.js';
import { ReportZone } from '../../src/views/report-range.js';
const { contact_id, ...filters } = conversationFilters;
export default defineTool({
    name: 'conversations_list',
    title: 'List conversations',
    summary: 'Stored conversations of a website, newest first, with filters. To sync, use order updated_asc. conversation_brief names the operator.',
    rest: 'GET /api/v1/conversations',
    effect: 'read',
    tag: 'Conversations',
    scopes: ['conversation_read'],
    restrictions: 'applied',
    when: [
        { given: 'contact_id', ...BY_CONTACT },
        { given: 'query', ...both(MSG, PII) },
        { given: 'operator_id', ...BY_OPERATOR },
    ],
    // With order desc, a cursor is a conversation id. With order updated_asc, it is opaque to the caller.
    page: { cursor: z.string().min(1).max(200), limit: 25 },
    input: {
        query: {
            ...inWebsite,
            contact_id,
            query: z
                .string()
                .min(1)
                .max(200)
                .optional()
                .describe('Part of the subject, case-insensitive. No character is a wildcard. A page can be empty although more pages follow. Continue until next_cursor is null.'),
            ...filters,
            timezone: ReportZone.optional().describe('IANA time zone of the local days in created_from and created_to. Absent: they are times.'),
            order: z
                .enum(['desc', 'updated_asc'])
                .default('desc')
                .describe('Newest first, or oldest change first. desc: the newest conversation comes first. updated_asc: the oldest change comes first.'),
        },
    },
    output: data({
        conversations: listOf(ConversationView.schema).describe('Conversations of the website, in the requested order.'),
        next_cursor: NextCursor,
        coverage: coverage('persisted_conversations'),
    }),
    async handle({ input, read }) {
        const { rows, next_cursor } = await read.page(ConversationView, {
            where: byConversation(input, zoneOfDays(input)),
            zoned: input.timezone !== undefined,
            cursor: input.cursor,
            limit: input.limit,
            by: input.order === 'updated_asc' ? 'updated_at' : 'id',
            search: input.query === undefined ? undefined : bySubject(input.query),
        });
        return { data: { conversations: rows, next_cursor, coverage: 'persisted_conversations' } };
    },
});
//# sourceMappingURL=conversations-list.js.map