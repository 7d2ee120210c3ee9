import { directory, page, plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/teams?website_id={web}',
    scopes: ['live_read'],
    members: { data: page('teams'), 'data.teams.*': plain('id', 'name', 'enabled') },
    list: ['data.teams', 'id', directory('team_ids')],
    cursor: 'tem',
    shows: [['team', [1, 2], { name: [] }]],
    configured: ['/data/teams/*/name'],
});
//# sourceMappingURL=teams.js.map