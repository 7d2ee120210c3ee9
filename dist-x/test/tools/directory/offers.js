import { always, at, columns, page, plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/offers?website_id={web}',
    scopes: ['conversation_read'],
    members: {
        data: page('offers'),
        'data.offers.*': plain('id', 'name', 'type', 'status', 'url', 'starts_at', 'ends_at'),
    },
    list: ['data.offers', 'id', always(2, 1)],
    cursor: 'ofr',
    shows: [['offer', [1, 2], columns([], 'name', 'url')]],
    configured: at('/data/offers/*', 'name', 'url'),
});
//# sourceMappingURL=offers.js.map