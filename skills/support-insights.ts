import { z } from 'zod';
import { defineSkill } from '../src/core/skill.ts';
import { inWebsite } from '../src/core/tool.ts';
import { RANGES } from '../src/views/report.ts';
import { periodOf, ReportDay, ReportZone, zoneOf } from '../src/views/report-range.ts';

export default defineSkill({
  name: 'support_insights',
  title: 'Report on AI conversations',
  description:
    'Counts, response times and results of AI conversations over at most 31 days. Null: not granted or no data.',
  tags: ['reporting', 'conversations'],
  tools: ['ai_conversation_summary'],
  input: z.strictObject({
    ...inWebsite,
    range: z.enum(RANGES).describe('Period in local days; date needs start and end.'),
    start: ReportDay.optional().describe('First local day, YYYY-MM-DD; only with range date.'),
    end: ReportDay.optional().describe('Last local day, included, YYYY-MM-DD; at most 31 days from start.'),
    timezone: ReportZone.optional().describe(
      'IANA time zone of days and hours; default: the time zone of the website.',
    ),
  }),
  examples: [
    { website_id: 'web_1_1', range: 'last-7-days' },
    { website_id: 'web_1_1', range: 'date', start: '2026-10-01', end: '2026-10-31', timezone: 'Europe/Berlin' },
  ],
  check: ({ timezone, ...range }) => {
    periodOf(range);
    if (timezone !== undefined) zoneOf(timezone);
  },
  run: ({ input, call }) => call('ai_conversation_summary', input),
});
