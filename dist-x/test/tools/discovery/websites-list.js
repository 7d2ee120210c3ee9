import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/websites',
    scopes: ['website_read'],
    members: { '': plain('websites'), 'websites.*': plain('website_id', 'name', 'time_zone', 'environment') },
    shows: [['website', [1], { name: [] }]],
    configured: ['/websites/*/name'],
});
//# sourceMappingURL=websites-list.js.map