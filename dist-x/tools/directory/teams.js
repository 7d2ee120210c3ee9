import { TeamId } from '../../src/core/ids.js';
import { coverage, data, defineTool, inWebsite, listOf, NextCursor } from '../../src/core/tool.js';
import { TeamView } from '../../src/views/catalogue.js';
export default defineTool({
    name: 'teams',
    title: 'List teams',
    summary: 'Teams of a website. Only teams that the credential may see.',
    rest: 'GET /api/v1/teams',
    effect: 'read',
    tag: 'Directory and catalogues',
    scopes: ['live_read'],
    restrictions: 'applied',
    page: { cursor: TeamId, limit: 25 },
    input: { query: inWebsite },
    output: data({
        teams: listOf(TeamView.schema).describe('Teams of the website. The newest team comes first.'),
        next_cursor: NextCursor,
        coverage: coverage('configured_teams'),
    }),
    async handle({ input, read }) {
        const { rows, next_cursor } = await read.page(TeamView, { cursor: input.cursor, limit: input.limit });
        return { data: { teams: rows, next_cursor, coverage: 'configured_teams' } };
    },
});
//# sourceMappingURL=teams.js.map