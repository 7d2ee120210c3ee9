import { DIRECTORY } from '../../support/authority/grants.js';
import { INTERNAL, MESSAGE, messages, said, stored } from '../../support/authority/records.js';
import { always, plain, reads } from '../../support/authority/row.js';
// Message 5 is redacted. Its text is hidden, but its language is visible.
const publicMessages = [
    stored.message(1, 2, 3, 6),
    ['message', [5], { language: [] }],
    stored.nickname(1),
];
const messagesPage = {
    data: plain('conversation_id', 'messages', 'next_cursor', 'include_internal', 'coverage'),
    'data.messages.*': MESSAGE,
};
export default reads({
    path: '/conversations/{cnv:1}/messages',
    ...messages,
    members: messagesPage,
    list: ['data.messages', 'id', always(6, 5, 3, 2, 1)],
    cursor: 'msg',
    shows: [...publicMessages, stored.staff(DIRECTORY, 1, 2)],
    outsiders: said.message('/data/messages/*'),
}, {
    variant: 'include_internal, asc',
    path: '/conversations/{cnv:1}/messages?include_internal=true&order=asc',
    ...messages,
    given: INTERNAL,
    members: messagesPage,
    list: ['data.messages', 'id', always(1, 2, 3, 4, 5, 6)],
    cursor: 'msg',
    shows: [...publicMessages, stored.message(4), stored.staff(DIRECTORY, 1, 2)],
});
//# sourceMappingURL=conversation-messages.js.map