import { stored, VISITOR } from '../../support/authority/records.js';
import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/dashboard/visitors/{vis:1}',
    scopes: ['conversation_read'],
    unrestricted: true,
    members: {
        data: plain('visitor', 'coverage'),
        'data.visitor': VISITOR,
        'data.visitor.access': plain('pii'),
    },
    shows: [stored.nickname(1)],
    outsiders: ['/data/visitor/nickname'],
});
//# sourceMappingURL=visitor.js.map