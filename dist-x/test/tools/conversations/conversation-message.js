import { DIRECTORY } from '../../support/authority/grants.js';
import { INTERNAL, MESSAGE, messages, said, stored } from '../../support/authority/records.js';
import { plain, reads } from '../../support/authority/row.js';
const STAFF = { type: [], id: DIRECTORY, name: DIRECTORY };
export default reads({
    variant: 'of an operator',
    path: '/conversations/{cnv:1}/messages/{msg:2}',
    ...messages,
    members: {
        data: plain('message', 'coverage'),
        'data.message': MESSAGE,
        'data.message.author': STAFF,
    },
    shows: [stored.message(2), stored.staff(DIRECTORY, 1)],
    outsiders: said.message('/data/message'),
}, {
    variant: 'of a visitor',
    path: '/conversations/{cnv:1}/messages/{msg:1}',
    ...messages,
    members: { 'data.message': MESSAGE, 'data.message.author': plain('type', 'id', 'name') },
    shows: [stored.message(1), stored.nickname(1)],
}, {
    variant: 'internal',
    path: '/conversations/{cnv:1}/messages/{msg:4}?include_internal=true',
    ...messages,
    given: INTERNAL,
    members: { 'data.message': MESSAGE, 'data.message.author': STAFF },
    shows: [stored.message(4), stored.staff(DIRECTORY, 1)],
});
//# sourceMappingURL=conversation-message.js.map