import { defineResource } from '../src/core/resource.js';
export default defineResource({
    uri: 'gateway://context',
    name: 'context',
    title: 'Installation context',
    description: 'Scopes, websites, data access, restrictions and guides of this credential.',
    mimeType: 'application/json',
    tool: 'gateway_context',
    input: () => ({}),
    list: () => [{}],
});
//# sourceMappingURL=context.js.map