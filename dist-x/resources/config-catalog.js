import { defineResource } from '../src/core/resource.js';
export default defineResource({
    uri: 'gateway://config/{website_id}/catalog',
    name: 'config-catalog',
    title: 'Configuration catalog',
    description: 'Configuration areas, the fields that config_plan accepts, and the numbers of the platforms.',
    mimeType: 'application/json',
    tool: 'config_catalog',
    input: ({ website_id }) => ({ website_id }),
    list: ({ websites }) => websites.map((website_id) => ({ website_id })),
});
//# sourceMappingURL=config-catalog.js.map