import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/settings/schema?website_id={web}&path=/ai/features',
    scopes: ['config_read'],
    members: { data: plain('path', 'schema', 'plan_schema', 'coverage') },
}, {
    variant: 'of an item',
    path: '/settings/schema?website_id={web}&path=/ai/features/{aif:1}',
    scopes: ['config_read'],
    members: { data: plain('path', 'schema', 'plan_schema', 'coverage') },
});
//# sourceMappingURL=config-schema.js.map