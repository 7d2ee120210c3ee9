import { defineResource } from '../src/core/resource.js';
export default defineResource({
    uri: 'gateway://config/{website_id}/schema',
    name: 'config-schema',
    title: 'Configuration schema',
    description: 'JSON Schema of an AI feature, and of the changes that config_plan accepts.',
    mimeType: 'application/json',
    tool: 'config_schema',
    input: ({ website_id }) => ({ website_id, path: '/ai/features' }),
    list: ({ websites }) => websites.map((website_id) => ({ website_id })),
});
//# sourceMappingURL=config-schema.js.map