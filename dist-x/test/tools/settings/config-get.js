import { FEATURE, stored } from '../../support/authority/records.js';
import { always, plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/settings/item?website_id={web}&path=/ai/features',
    scopes: ['config_read'],
    unrestricted: true,
    members: {
        data: plain('path', 'items', 'truncated', 'next_cursor', 'coverage'),
        'data.items.*': FEATURE,
    },
    list: ['data.items', 'id', always(1, 3)],
    cursor: 'aif',
    shows: [stored.feature(1, 3)],
    configured: ['/data/items/*/name', '/data/item/name'],
}, {
    variant: 'of an item',
    path: '/settings/item?website_id={web}&path=/ai/features/{aif:1}',
    scopes: ['config_read'],
    unrestricted: true,
    members: { data: plain('path', 'item', 'coverage'), 'data.item': FEATURE },
    shows: [stored.feature(1)],
});
//# sourceMappingURL=config-get.js.map