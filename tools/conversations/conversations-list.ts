import { z } from 'zod';
import { accepts } from '../../src/core/expected.ts';
import { ChannelId, ContactId, OperatorId, SubsiteId, TeamId } from '../../src/core/ids.ts';
import { Moment } from '../../src/core/moment.ts';
import { both, DIRECTORY, MSG, PII } from '../../src/core/scopes.ts';
import { coverage, data, defineTool, inWebsite, listOf, NextCursor } from '../../src/core/tool.ts';
import { byConversation, bySubject, ConversationView, PLATFORMS, STATUSES } from '../../src/views/conversation.ts';

const Statuses = accepts(
  z.string().regex(new RegExp(`^(${STATUSES.join('|')})(,(${STATUSES.join('|')})){0,6}$`)),
  `one or more of ${STATUSES.join(', ')}, with a comma between two`,
);

export default defineTool({
  name: 'conversations_list',
  title: 'List conversations',
  summary: 'Stored conversations of a website, newest first, with filters. To sync changes, use order updated_asc.',
  rest: 'GET /api/v1/conversations',
  effect: 'read',
  tag: 'Conversations',
  scopes: ['conversation_read'],
  restrictions: 'applied',
  when: [
    { given: 'contact_id', scopes: ['contact_read', 'contact_read_pii'], dataAccess: [] },
    { given: 'query', ...both(MSG, PII) },
    { given: 'operator_id', ...both(DIRECTORY, PII) },
  ],
  // With order desc, the cursor is a conversation id. With order updated_asc, the cursor is opaque to the caller.
  page: { cursor: z.string().min(1).max(200), limit: 25 },
  input: {
    query: {
      ...inWebsite,
      contact_id: ContactId.schema
        .optional()
        .describe('Only conversations with this contact. Absent: conversations with any contact.'),
      query: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe(
          'Part of the subject, case-insensitive. No character is a wildcard. A page can be empty although more pages follow. Continue until next_cursor is null.',
        ),
      status: Statuses.optional().describe(
        `Comma-separated list of these statuses: ${STATUSES.join(', ')}. Absent: the list has every status.`,
      ),
      platform: z
        .enum(PLATFORMS)
        .optional()
        .describe('Only conversations on this platform. Absent: conversations on every platform.'),
      channel_id: ChannelId.schema
        .optional()
        .describe('Only conversations of this channel. Absent: conversations of every channel.'),
      team_id: TeamId.schema
        .optional()
        .describe('Only conversations of this team. Absent: conversations of every team.'),
      subsite_id: SubsiteId.schema
        .optional()
        .describe('Only conversations of this subsite. Absent: conversations of every subsite.'),
      operator_id: OperatorId.schema
        .optional()
        .describe('Only conversations assigned to this operator. Absent: conversations of every operator.'),
      created_from: Moment.optional().describe('Created at or after this RFC 3339 UTC time. Absent: no earliest time.'),
      created_to: Moment.optional().describe('Created before this RFC 3339 UTC time. Absent: no latest time.'),
      updated_since: Moment.optional().describe(
        'Changed at or after this RFC 3339 UTC time. Absent: no earliest time.',
      ),
      order: z
        .enum(['desc', 'updated_asc'])
        .default('desc')
        .describe(
          'Newest first, or oldest change first. desc: the newest conversation comes first. updated_asc: the oldest change comes first.',
        ),
    },
  },
  output: data({
    conversations: listOf(ConversationView.schema).describe('Conversations of the website, in the requested order.'),
    next_cursor: NextCursor,
    coverage: coverage('persisted_conversations'),
  }),
  async handle({ input, read }) {
    const { rows, next_cursor } = await read.page(ConversationView, {
      where: byConversation(input),
      cursor: input.cursor,
      limit: input.limit,
      by: input.order === 'updated_asc' ? 'updated_at' : 'id',
      search: input.query === undefined ? undefined : bySubject(input.query),
    });
    return { data: { conversations: rows, next_cursor, coverage: 'persisted_conversations' } };
  },
});
