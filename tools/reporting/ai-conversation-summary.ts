import { z } from 'zod';
import { defineTool, inWebsite } from '../../src/core/tool.ts';
import { RANGES, ReportSchema } from '../../src/views/report.ts';
import { ReportDay, ReportZone } from '../../src/views/report-range.ts';

export default defineTool({
  name: 'ai_conversation_summary',
  title: 'Summarize AI conversations',
  summary: 'Counts, response times and results of AI conversations over at most 31 days. Null: not granted or no data.',
  rest: 'GET /api/v1/analytics/ai-conversations/summary',
  effect: 'read',
  tag: 'Reporting',
  scopes: ['reports_read', 'conversation_read'],
  restrictions: 'applied',
  cost: 5,
  input: {
    query: {
      ...inWebsite,
      range: z.enum(RANGES).optional().describe('Period in local days, default last-7-days; date needs start and end.'),
      start: ReportDay.optional().describe('First local day, YYYY-MM-DD; only with range date.'),
      end: ReportDay.optional().describe('Last local day, included, YYYY-MM-DD; at most 31 days.'),
      timezone: ReportZone.optional().describe('IANA time zone; default: the website’s.'),
    },
  },
  output: z.strictObject({ data: ReportSchema.describe('The report.') }),
  async handle({ input: { range, start, end, timezone }, read }) {
    return { data: await read.report({ range, start, end, timezone }) };
  },
});
