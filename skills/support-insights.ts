import { z } from 'zod';
import { defineSkill } from '../src/core/skill.ts';
import { inWebsite } from '../src/core/tool.ts';
import { RANGES } from '../src/views/report.ts';
import { periodOf, reportDays, zoneOf } from '../src/views/report-range.ts';

export default defineSkill({
  name: 'support_insights',
  title: 'Report on AI conversations',
  description:
    'Counts, response times and results of AI conversations in at most 31 days. A null is not granted or has no data.',
  tags: ['reporting', 'conversations'],
  tools: ['ai_conversation_summary'],
  input: z.strictObject({
    ...inWebsite,
    range: z.enum(RANGES).describe('Period in local days. The value date needs start and end.'),
    ...reportDays,
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
