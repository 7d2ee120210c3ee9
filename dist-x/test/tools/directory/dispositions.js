import { at, columns, page, plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/dispositions?website_id={web}',
    scopes: ['conversation_read'],
    members: {
        data: page('dispositions'),
        'data.dispositions.*': plain('value', 'label', 'group', 'enabled', 'position'),
    },
    cursor: 'dsp',
    shows: [
        ['disposition', [1, 2], columns([], 'value', 'label')],
        ['disposition', [1], { group_name: [] }],
    ],
    configured: at('/data/dispositions/*', 'value', 'label', 'group'),
});
//# sourceMappingURL=dispositions.js.map