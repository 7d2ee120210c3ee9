import { defineResource } from '../src/core/resource.js';
export default defineResource({
    uri: 'gateway://guides/{guide}',
    name: 'guide',
    title: 'Guide',
    description: 'How to work with this gateway: the order of calls, the meaning of missing fields and nulls, and the recovery from failures.',
    mimeType: 'text/markdown',
    tool: 'guide_read',
    input: ({ guide }) => ({ guide }),
    text: (body) => body.content, // the gateway has checked this answer against its schema
    list: ({ guides }) => guides.map((guide) => ({ guide })),
});
//# sourceMappingURL=guide.js.map