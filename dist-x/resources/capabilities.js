import { defineResource } from '../src/core/resource.js';
export default defineResource({
    uri: 'gateway://capabilities/{website_id}',
    name: 'capabilities',
    title: 'Capabilities',
    description: 'Operations that this credential can call on the website now.',
    mimeType: 'application/json',
    tool: 'capabilities_list',
    input: ({ website_id }) => ({ website_id }),
    list: ({ websites }) => websites.map((website_id) => ({ website_id })),
});
//# sourceMappingURL=capabilities.js.map