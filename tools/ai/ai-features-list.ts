import { z } from 'zod';
import { example } from '../../src/core/example.ts';
import { AiFeatureId } from '../../src/core/ids.ts';
import { sql } from '../../src/core/sql.ts';
import { data, defineTool, inWebsite, listOf, NextCursor } from '../../src/core/tool.ts';
import { AI_TYPES, AiFeatureListView } from '../../src/views/ai-feature.ts';

export default defineTool({
  name: 'ai_features_list',
  title: 'List AI features',
  summary: 'AI features of a website with their active versions. The list grants no right to run a feature.',
  rest: 'GET /api/v1/ai/features',
  effect: 'read',
  tag: 'AI features',
  scopes: ['ai_features_read'],
  restrictions: 'refused',
  page: { cursor: AiFeatureId, limit: 25 },
  input: {
    query: {
      ...inWebsite,
      type: z.enum(AI_TYPES).optional().describe('Only features of this type. Absent: features of every type.'),
    },
  },
  output: data({
    features: listOf(AiFeatureListView.schema).describe('AI features, ordered by ascending id.'),
    truncated: example(false, z.boolean().describe('True if more features follow on a next page.')),
    next_cursor: NextCursor,
  }),
  async handle({ input: { type, cursor, limit }, read }) {
    const where = type === undefined ? [] : [sql`a.type = ${type}`];
    const { rows, next_cursor } = await read.page(AiFeatureListView, { where, cursor, limit });
    return { data: { features: rows, truncated: next_cursor !== null, next_cursor } };
  },
});
