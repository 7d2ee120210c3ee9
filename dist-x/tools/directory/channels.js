import { ChannelId } from '../../src/core/ids.js';
import { coverage, data, defineTool, inWebsite, listOf, NextCursor } from '../../src/core/tool.js';
import { ChannelView } from '../../src/views/catalogue.js';
export default defineTool({
    name: 'channels',
    title: 'List channels',
    summary: 'Channels of a website. Only channels that the credential may see.',
    rest: 'GET /api/v1/channels',
    effect: 'read',
    tag: 'Directory and catalogues',
    scopes: ['live_read'],
    restrictions: 'applied',
    page: { cursor: ChannelId, limit: 25 },
    input: { query: inWebsite },
    output: data({
        channels: listOf(ChannelView.schema).describe('Channels of the website. The newest channel comes first.'),
        next_cursor: NextCursor,
        coverage: coverage('configured_channels'),
    }),
    async handle({ input, read }) {
        const { rows, next_cursor } = await read.page(ChannelView, { cursor: input.cursor, limit: input.limit });
        return { data: { channels: rows, next_cursor, coverage: 'configured_channels' } };
    },
});
//# sourceMappingURL=channels.js.map