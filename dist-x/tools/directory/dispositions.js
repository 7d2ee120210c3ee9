import { DispositionId } from '../../src/core/ids.js';
import { coverage, data, defineTool, inWebsite, listOf, NextCursor } from '../../src/core/tool.js';
import { DispositionView } from '../../src/views/catalogue.js';
export default defineTool({
    name: 'dispositions',
    title: 'List dispositions',
    summary: 'Dispositions of a website, with value, label and group.',
    rest: 'GET /api/v1/dispositions',
    effect: 'read',
    tag: 'Directory and catalogues',
    scopes: ['conversation_read'],
    restrictions: 'none',
    page: { cursor: DispositionId, limit: 25 },
    input: { query: inWebsite },
    output: data({
        dispositions: listOf(DispositionView.schema).describe('Dispositions of the website. The newest disposition comes first.'),
        next_cursor: NextCursor,
        coverage: coverage('configured_dispositions'),
    }),
    async handle({ input, read }) {
        const { rows, next_cursor } = await read.page(DispositionView, { cursor: input.cursor, limit: input.limit });
        return { data: { dispositions: rows, next_cursor, coverage: 'configured_dispositions' } };
    },
});
//# sourceMappingURL=dispositions.js.map