import { stored } from '../../support/authority/records.js';
import { always, plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/settings/search?website_id={web}&query=Zq',
    scopes: ['config_read'],
    members: {
        data: plain('matches', 'truncated', 'next_cursor'),
        'data.matches.*': plain('path', 'label', 'type', 'version'),
    },
    list: ['data.matches', 'path', always(1, 3)],
    cursor: 'aif',
    shows: [stored.feature(1, 3)],
    configured: ['/data/matches/*/label'],
});
//# sourceMappingURL=config-search.js.map