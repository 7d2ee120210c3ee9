import { plain, reads } from '../../support/authority/row.js';
// The time lies before the first record. So the calls of a test leave no record in the answers of its other calls.
export default reads({
    path: '/audit?to=2020-01-01T00:00:00Z',
    members: { data: plain('records', 'next_cursor') },
    cursor: 'ctc',
});
//# sourceMappingURL=audit-list.js.map