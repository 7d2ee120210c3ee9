import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/settings/catalog?website_id={web}',
    scopes: ['config_read'],
    members: { data: plain('areas', 'platforms', 'coverage') },
});
//# sourceMappingURL=config-catalog.js.map