import { z } from 'zod';
import { example } from '../../src/core/example.ts';
import { defineTool, inWebsite } from '../../src/core/tool.ts';
import { RANGES, ReportSchema } from '../../src/views/report.ts';
import { reportDays } from '../../src/views/report-range.ts';

export default defineTool({
  name: 'ai_conversation_summary',
  title: 'Summarize AI conversations',
  summary:
    'Counts, times and AI results (topics, sentiment, resolution) of AI conversations in at most 31 days. A null is withheld or has no data.',
  rest: 'GET /api/v1/analytics/ai-conversations/summary',
  effect: 'read',
  tag: 'Reporting',
  scopes: ['reports_read', 'conversation_read'],
  restrictions: 'applied',
  cost: 5,
  input: {
    query: {
      ...inWebsite,
      range: example(
        'last-7-days',
        z
          .enum(RANGES)
          .optional()
          .describe(
            'Period in local days, default last-7-days. The value date needs start and end. If start or end is given, the default is date.',
          ),
      ),
      ...reportDays,
    },
  },
  output: z.strictObject({ data: ReportSchema.describe('Report on the AI conversations of the website.') }),
  async handle({ input: { range, start, end, timezone }, read }) {
    return { data: await read.report({ range, start, end, timezone }) };
  },
});
