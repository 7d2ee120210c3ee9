import { stored } from '../../support/authority/records.js';
import { always, at, page, plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/operators?website_id={web}',
    scopes: ['directory_read', 'contact_read_pii'],
    flags: ['pii'],
    members: {
        data: page('operators'),
        'data.operators.*': plain('id', 'name', 'email', 'role', 'enabled', 'team_ids'),
    },
    list: ['data.operators', 'id', always(3, 2, 1)],
    cursor: 'opr',
    shows: [stored.staff([], 1, 2, 3), ['operator', [1, 2], { email: [] }]],
    outsiders: at('/data/operators/*', 'name', 'email'),
});
//# sourceMappingURL=operators.js.map