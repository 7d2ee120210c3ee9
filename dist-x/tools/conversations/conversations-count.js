import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { WebsiteId } from '../../src/core/ids.js';
import { shared } from '../../src/core/parameters.js';
import { both, MSG, PII } from '../../src/core/scopes.js';
import { ServiceText } from '../../src/core/texts.js';
import { data, defineTool } from '../../src/core/tool.js';
import { CountedGroups, GROUP_NEEDS, GroupBy, groupingsOf, namesText } from '../../src/views/conversation-count.js';
import { BY_CONTACT, BY_OPERATOR, byConversation, bySubject, conversationFilters, zoneOfDays, } from '../../src/views/conversation-filters.js';
import { daysOf, ReportDay, ReportZone } from '../../src/views/report-range.js';
export default defineTool({
    name: 'conversations_count',
    title: 'Count conversations',
    summary: 'Exact number of conversations, in groups if group_by is given. Use it instead of paging.',
    rest: 'GET /api/v1/conversations/count',
    effect: 'read',
    tag: 'Conversations',
    toolsets: ['find'],
    scopes: ['conversation_read'],
    restrictions: 'applied',
    when: [
        { given: 'contact_id', ...BY_CONTACT },
        { given: 'operator_id', ...BY_OPERATOR },
        { given: 'subject_contains', ...both(MSG, PII) },
        ...GROUP_NEEDS,
    ],
    cost: 2,
    costWith: { given: 'group_by', units: 5 },
    input: {
        query: {
            website_id: WebsiteId.optional().describe('Website to count. Absent: the website of the other ids, else all granted websites.'),
            ...conversationFilters,
            disposition: z.string().min(1).max(200).optional().describe('A value from dispositions. Absent: any or none.'),
            from: ReportDay.optional().describe('First local day of creation, YYYY-MM-DD.'),
            to: ReportDay.optional().describe('Last local day of creation, YYYY-MM-DD, included. Absent: no last day.'),
            timezone: ReportZone.optional().describe('IANA time zone of the days. Absent: the time zone of each website.'),
            subject_contains: z
                .string()
                .min(1)
                .max(200)
                .optional()
                .describe('Part of the subject, case-insensitive. No wildcards. Absent: any subject.'),
            limit: shared('limit_of_groups', z.int().min(1).max(100).default(100).describe('Number of groups. other counts the rest.')),
            group_by: GroupBy.optional().describe('One or two of status, disposition, team, operator, channel, language, day, contact, website, comma-separated. A group without an operator, team, channel or contact has the id null. Of several contacts of a conversation, the one with the lowest id counts. Absent: only the total.'),
        },
    },
    output: data({
        total: example(42, z.int().min(0).describe('Number of conversations that match the filters.')),
        groups: CountedGroups,
        other: example(12, z
            .int()
            .min(0)
            .describe('Number of conversations in no listed group. The groups and other add up to total, so without group_by it equals total.')),
        timezone: example('America/New_York', ServiceText.nullable().describe('IANA time zone of the days. Null if several websites keep their own.')),
    }),
    async handle({ input, authority, read }) {
        const { group_by, contact_id, subject_contains: subject } = input;
        const zone = zoneOfDays(input);
        const by = groupingsOf(authority, group_by, contact_id);
        const { total, groups, timezone } = await read.counts({
            where: [...byConversation(input, zone), ...(subject === undefined ? [] : [bySubject(subject)])],
            ...daysOf(input.from, input.to),
            timezone: zone,
            ...{ by, limit: input.limit },
        });
        const isNamed = by.some(({ name }) => name);
        const shown = (by.length > 0 ? groups : []).map(({ key, count, names }) => ({
            ...{ key, count },
            ...(isNamed && { name: namesText(names) }),
        }));
        const other = total - shown.reduce((sum, { count }) => sum + count, 0);
        return { data: { total, groups: shown, other, timezone } };
    },
});
//# sourceMappingURL=conversations-count.js.map