import { defineResource } from '../src/core/resource.js';
export default defineResource({
    uri: 'gateway://config/{website_id}/ai/features',
    name: 'config-ai-features',
    title: 'AI features',
    description: 'The first 100 AI features of the website: name, type, state and active version.',
    mimeType: 'application/json',
    tool: 'config_get',
    input: ({ website_id }) => ({ website_id, path: '/ai/features', limit: 100 }),
    list: ({ websites }) => websites.map((website_id) => ({ website_id })),
});
//# sourceMappingURL=config-ai-features.js.map