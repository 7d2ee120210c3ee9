import { z } from 'zod';
import { coverage, data, defineTool, inWebsite, listOf, NextCursor } from '../../src/core/tool.ts';
import { PlainId, SavedLinkView } from '../../src/views/catalogue.ts';

export default defineTool({
  name: 'saved_links',
  title: 'List saved links',
  summary: 'Saved links for all operators of a website, newest first.',
  rest: 'GET /api/v1/saved_links',
  effect: 'read',
  tag: 'Directory and catalogues',
  scopes: ['conversation_read'],
  restrictions: 'none',
  page: { cursor: PlainId, limit: 25 },
  input: { query: inWebsite },
  output: data({
    scope: z
      .literal('website_global')
      .describe('Scope of the list. Always website_global: links for all operators of the website.'),
    saved_links: listOf(SavedLinkView.schema).describe('Saved links of the website. The newest link comes first.'),
    next_cursor: NextCursor,
    coverage: coverage('website_global_static_saved_links'),
  }),
  async handle({ input, read }) {
    const { rows, next_cursor } = await read.page(SavedLinkView, { cursor: input.cursor, limit: input.limit });
    const coverage = 'website_global_static_saved_links';
    return { data: { scope: 'website_global', saved_links: rows, next_cursor, coverage } };
  },
});
