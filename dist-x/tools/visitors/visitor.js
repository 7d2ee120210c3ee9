import { VisitorId } from '../../src/core/ids.js';
import { coverage, data, defineTool, ofWebsite } from '../../src/core/tool.js';
import { VisitorView } from '../../src/views/visitor.js';
export default defineTool({
    name: 'visitor',
    title: 'Read a visitor',
    summary: 'Stored identity of a visitor, with nickname and contacts if granted. No tracking or live state.',
    rest: 'GET /api/v1/dashboard/visitors/{visitor_id}',
    effect: 'read',
    tag: 'Visitors',
    scopes: ['conversation_read'],
    restrictions: 'refused',
    input: { path: { visitor_id: VisitorId.schema }, query: ofWebsite },
    output: data({ visitor: VisitorView.schema.describe('The visitor.'), coverage: coverage('persisted_visitors') }),
    async handle({ input, read }) {
        return { data: { visitor: await read.one(VisitorView, input.visitor_id), coverage: 'persisted_visitors' } };
    },
});
//# sourceMappingURL=visitor.js.map