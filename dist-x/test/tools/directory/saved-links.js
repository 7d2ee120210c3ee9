import { always, at, columns, plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/saved_links?website_id={web}',
    scopes: ['conversation_read'],
    members: {
        data: plain('scope', 'saved_links', 'next_cursor', 'coverage'),
        'data.saved_links.*': plain('id', 'label', 'url'),
    },
    list: ['data.saved_links', 'id', always(1)],
    cursor: '',
    shows: [['saved_link', [1], columns([], 'label', 'url')]],
    configured: at('/data/saved_links/*', 'label', 'url'),
});
//# sourceMappingURL=saved-links.js.map