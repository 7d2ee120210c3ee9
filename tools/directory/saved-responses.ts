import { z } from 'zod';
import { accepts } from '../../src/core/accepted-values.ts';
import { example } from '../../src/core/example.ts';
import { sql } from '../../src/core/sql.ts';
import { ServiceText } from '../../src/core/texts.ts';
import { coverage, data, defineTool, inWebsite, listOf, NextCursor } from '../../src/core/tool.ts';
import { canonicalLanguage, PlainId, SavedResponseView } from '../../src/views/catalogue.ts';

const Language = accepts(
  z
    .string()
    .max(35)
    .regex(/^[a-zA-Z]{2,3}(?:-[a-zA-Z0-9]{2,8}){0,3}$/),
  'a language tag such as en or pt-BR',
);

export default defineTool({
  name: 'saved_responses',
  title: 'List saved responses',
  summary: 'Prepared answers in one language for all operators of a website, newest first.',
  rest: 'GET /api/v1/saved_responses',
  effect: 'read',
  tag: 'Directory and catalogues',
  scopes: ['conversation_read'],
  restrictions: 'none',
  page: { cursor: PlainId, limit: 25 },
  input: {
    query: {
      ...inWebsite,
      language: Language.default('en').describe(
        'Language as a BCP 47 tag. Only responses with exactly this tag are returned.',
      ),
    },
  },
  output: data({
    // The canonical form of a language tag can be longer than the tag in the request. For example, sh becomes sr-Latn.
    language: example('en', ServiceText.max(64).describe('Requested language, as a BCP 47 tag in canonical form.')),
    scope: z
      .literal('website_global')
      .describe('Scope of the list. Always website_global: responses for all operators of the website.'),
    saved_responses: listOf(SavedResponseView.schema).describe(
      'Saved responses in the requested language. The newest response comes first.',
    ),
    next_cursor: NextCursor,
    coverage: coverage('website_global_saved_responses'),
  }),
  async handle({ input, read }) {
    const language = canonicalLanguage(input.language);
    const { cursor, limit } = input;
    const where = [sql`sr.language = ${language}`];
    const { rows, next_cursor } = await read.page(SavedResponseView, { where, cursor, limit });
    const coverage = 'website_global_saved_responses';
    return { data: { language, scope: 'website_global', saved_responses: rows, next_cursor, coverage } };
  },
});
