import { stored, VISITOR } from '../../support/authority/records.js';
import { plain, reads, through } from '../../support/authority/row.js';
export default reads({
    path: '/contacts/{ctc:1}/visitors',
    scopes: ['contact_read', 'contact_read_pii', 'conversation_read'],
    flags: ['pii'],
    ofConversation: true,
    members: {
        data: plain('contact_id', 'visitors', 'next_cursor', 'coverage'),
        'data.visitors.*': VISITOR,
    },
    // Place 1 (a channel, team or subsite) contains conversations of visitors 1 and 2. The only conversation of visitor
    // 4 is in no place.
    list: ['data.visitors', 'id', through([4, 2, 1], [2, 1])],
    cursor: 'vis',
    shows: [stored.nickname(1, 2, 4)],
    outsiders: ['/data/visitors/*/nickname'],
});
//# sourceMappingURL=contact-visitors.js.map