import { z } from 'zod';
import { SearchQuery } from '../src/core/search.js';
import { defineSkill } from '../src/core/skill.js';
import { anyWebsite } from '../src/core/tool.js';
export default defineSkill({
    name: 'conversation_search',
    title: 'Search conversations',
    description: 'Messages, subjects, notes and contact names by words, in the kinds of text that are granted.',
    tags: ['conversations', 'search'],
    tools: ['search'],
    input: z.strictObject({
        query: SearchQuery,
        ...anyWebsite,
        limit: z
            .int()
            .min(1)
            .max(50)
            .default(10)
            .describe('Hits in the answer. The range is 1 to 50, and the default is 10.'),
    }),
    examples: [{ query: 'tent' }, { query: '"broken pole" or zipper', website_id: 'web_1_1', limit: 5 }],
    run: ({ input, call }) => call('search', input),
});
//# sourceMappingURL=conversation-search.js.map