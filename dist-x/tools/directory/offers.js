import { OfferId } from '../../src/core/ids.js';
import { coverage, data, defineTool, inWebsite, listOf, NextCursor } from '../../src/core/tool.js';
import { OfferView } from '../../src/views/catalogue.js';
export default defineTool({
    name: 'offers',
    title: 'List offers',
    summary: 'Banners, popups and other offers of a website, without targeting rules.',
    rest: 'GET /api/v1/offers',
    effect: 'read',
    tag: 'Directory and catalogues',
    scopes: ['conversation_read'],
    restrictions: 'none',
    page: { cursor: OfferId, limit: 25 },
    input: { query: inWebsite },
    output: data({
        offers: listOf(OfferView.schema).describe('Offers of the website. The newest offer comes first.'),
        next_cursor: NextCursor,
        coverage: coverage('configured_offers'),
    }),
    async handle({ input, read }) {
        const { rows, next_cursor } = await read.page(OfferView, { cursor: input.cursor, limit: input.limit });
        return { data: { offers: rows, next_cursor, coverage: 'configured_offers' } };
    },
});
//# sourceMappingURL=offers.js.map