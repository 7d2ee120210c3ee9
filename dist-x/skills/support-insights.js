import { z } from 'zod';
import { defineSkill } from '../src/core/skill.js';
import { inWebsite } from '../src/core/tool.js';
import { RANGES } from '../src/views/report.js';
import { periodOf, ReportDay, ReportZone, zoneOf } from '../src/views/report-range.js';
export default defineSkill({
    name: 'support_insights',
    title: 'Report on AI conversations',
    description: 'Counts, response times and results of AI conversations in at most 31 days. A null is not granted or has no data.',
    tags: ['reporting', 'conversations'],
    tools: ['ai_conversation_summary'],
    input: z.strictObject({
        ...inWebsite,
        range: z.enum(RANGES).describe('Period in local days. The value date needs start and end.'),
        start: ReportDay.optional().describe('First local day, YYYY-MM-DD, only with range date. Other ranges refuse this parameter.'),
        end: ReportDay.optional().describe('Last local day, YYYY-MM-DD, included. The report covers at most 31 days. Ranges other than date refuse this parameter.'),
        timezone: ReportZone.optional().describe('IANA time zone of the days and hours. The default is the time zone of the website.'),
    }),
    examples: [
        { website_id: 'web_1_1', range: 'last-7-days' },
        { website_id: 'web_1_1', range: 'date', start: '2026-10-01', end: '2026-10-31', timezone: 'Europe/Berlin' },
    ],
    check: ({ timezone, ...range }) => {
        periodOf(range);
        if (timezone !== undefined)
            zoneOf(timezone);
    },
    run: ({ input, call }) => call('ai_conversation_summary', input),
});
//# sourceMappingURL=support-insights.js.map