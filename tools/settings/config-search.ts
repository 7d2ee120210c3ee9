import { z } from 'zod';
import { example } from '../../src/core/example.ts';
import { AiFeatureId } from '../../src/core/ids.ts';
import { data, defineTool, inWebsite, listOf, NextCursor } from '../../src/core/tool.ts';
import { AiFeatureMatchView } from '../../src/views/ai-feature.ts';
import { matching } from '../../src/views/settings.ts';

export default defineTool({
  name: 'config_search',
  title: 'Search configuration',
  summary: 'Settings paths of AI features. The name or the type label of each feature contains the text.',
  rest: 'GET /api/v1/settings/search',
  effect: 'read',
  tag: 'Configuration',
  scopes: ['config_read'],
  restrictions: 'none',
  page: { cursor: AiFeatureId, limit: 25 },
  input: {
    query: {
      ...inWebsite,
      query: example(
        'translat',
        z.string().min(1).max(200).describe('Text to find, case-insensitive. No character is a wildcard.'),
      ),
    },
  },
  output: data({
    matches: listOf(AiFeatureMatchView.schema).describe('AI features that contain the text, ordered by ascending id.'),
    truncated: example(false, z.boolean().describe('True if more features follow on a next page.')),
    next_cursor: NextCursor,
  }),
  async handle({ input: { query, cursor, limit }, read }) {
    const { rows, next_cursor } = await read.page(AiFeatureMatchView, { where: [matching(query)], cursor, limit });
    return { data: { matches: rows, truncated: next_cursor !== null, next_cursor } };
  },
});
