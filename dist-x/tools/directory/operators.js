import { OperatorId } from '../../src/core/ids.js';
import { coverage, data, defineTool, inWebsite, listOf, NextCursor } from '../../src/core/tool.js';
import { OperatorView } from '../../src/views/catalogue.js';
export default defineTool({
    name: 'operators',
    title: 'List operators',
    summary: 'Operators of a website with name, role and teams, newest first.',
    rest: 'GET /api/v1/operators',
    effect: 'read',
    tag: 'Directory and catalogues',
    scopes: ['directory_read', 'contact_read_pii'],
    dataAccess: ['pii'],
    restrictions: 'none',
    page: { cursor: OperatorId, limit: 25 },
    input: { query: inWebsite },
    output: data({
        operators: listOf(OperatorView.schema).describe('Operators of the website. The newest operator comes first.'),
        next_cursor: NextCursor,
        coverage: coverage('persisted_operators'),
    }),
    async handle({ input, read }) {
        const { rows, next_cursor } = await read.page(OperatorView, { cursor: input.cursor, limit: input.limit });
        return { data: { operators: rows, next_cursor, coverage: 'persisted_operators' } };
    },
});
//# sourceMappingURL=operators.js.map