import { always, at, columns, plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/saved_responses?website_id={web}',
    scopes: ['conversation_read'],
    members: {
        data: plain('language', 'scope', 'saved_responses', 'next_cursor', 'coverage'),
        'data.saved_responses.*': plain(...['id', 'label', 'content', 'content_truncated', 'category_name', 'shortcut', 'platform_id']),
    },
    list: ['data.saved_responses', 'id', always(1)],
    cursor: '',
    shows: [['saved_response', [1], columns([], 'label', 'content', 'category_name', 'shortcut')]],
    outsiders: at('/data/saved_responses/*', 'label', 'content', 'category_name', 'shortcut'),
});
//# sourceMappingURL=saved-responses.js.map