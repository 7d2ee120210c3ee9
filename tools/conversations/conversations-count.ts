import { z } from 'zod';
import { example } from '../../src/core/example.ts';
import { WebsiteId } from '../../src/core/ids.ts';
import { ServiceText } from '../../src/core/texts.ts';
import { data, defineTool } from '../../src/core/tool.ts';
import { GROUP_NEEDS, GroupBy, GroupKey, groupingsOf } from '../../src/views/conversation-count.ts';
import { BY_CONTACT, BY_OPERATOR, byConversation, conversationFilters } from '../../src/views/conversation-filters.ts';
import { daysOf, ReportDay, ReportZone, zoneOf } from '../../src/views/report-range.ts';

export default defineTool({
  name: 'conversations_count',
  title: 'Count conversations',
  summary:
    'Exact number of conversations, in groups if group_by is given. Use it instead of paging. operators and teams have the names of the ids.',
  rest: 'GET /api/v1/conversations/count',
  effect: 'read',
  tag: 'Conversations',
  toolsets: ['find'],
  scopes: ['conversation_read'],
  restrictions: 'applied',
  when: [{ given: 'contact_id', ...BY_CONTACT }, { given: 'operator_id', ...BY_OPERATOR }, ...GROUP_NEEDS],
  cost: 2,
  costWith: { given: 'group_by', units: 5 },
  input: {
    query: {
      website_id: WebsiteId.optional().describe(
        'Website to count. Absent: the website of the other ids, else all granted websites.',
      ),
      ...conversationFilters,
      disposition: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('Only conversations with exactly this value, from dispositions. Absent: with any or none.'),
      from: ReportDay.optional().describe('First local day of creation, YYYY-MM-DD, included. Absent: no first day.'),
      to: ReportDay.optional().describe('Last local day of creation, YYYY-MM-DD, included. Absent: no last day.'),
      timezone: ReportZone.optional().describe('IANA time zone of the days. Absent: the time zone of each website.'),
      group_by: GroupBy.optional().describe(
        'One or two of status, disposition, team, operator, channel, language, day, contact, website, with a comma between two. The id of a group is null for conversations without an operator, team, channel or contact. A conversation with several contacts counts for the contact with the lowest id. Absent: the answer has only the total.',
      ),
    },
  },
  output: data({
    total: example(42, z.int().min(0).describe('Number of conversations that match the filters.')),
    groups: example(
      [{ key: { team_id: 'tem_1_1_2', status: 'closed' }, count: 30 }],
      z
        .array(
          z.strictObject({
            key: GroupKey.describe('Values that the conversations of the group share.'),
            count: z.int().min(1).describe('Number of conversations in the group.'),
          }),
        )
        .max(100)
        .describe(
          'At most 100 groups, the largest first. With day: the first 100 in the order of days, so the last day can lack groups. A day without conversations has no group. Empty without group_by.',
        ),
    ),
    other: example(
      12,
      z
        .int()
        .min(0)
        .describe(
          'Number of conversations in no listed group. The groups and other add up to total, so without group_by it equals total.',
        ),
    ),
    timezone: example(
      'America/New_York',
      ServiceText.nullable().describe('IANA time zone of the days. Null if several websites keep their own.'),
    ),
  }),
  async handle({ input, read }) {
    const { group_by, contact_id } = input;
    const zone = input.timezone === undefined ? undefined : zoneOf(input.timezone);
    const by = groupingsOf(group_by, contact_id);
    const { total, groups, timezone } = await read.counts({
      where: byConversation(input),
      ...daysOf(input.from, input.to),
      timezone: zone,
      by,
    });
    const shown = by.length > 0 ? groups : [];
    const other = total - shown.reduce((sum, { count }) => sum + count, 0);
    return { data: { total, groups: shown, other, timezone } };
  },
});
