import { DIRECTORY, MSG_PII, NOTES, PII } from '../../support/authority/grants.js';
import { CONVERSATION, INTERNAL_MESSAGES, said, stored } from '../../support/authority/records.js';
import { at, columns, plain, reads } from '../../support/authority/row.js';
const NOTED = [...NOTES, 'unrestricted'];
const brief = {
    data: {
        ...plain('conversation', 'left_out'),
        contacts: ['contact_read', ...PII],
        operator: [...DIRECTORY, ...PII],
        ...{ team: ['live_read'], channel: ['live_read'], messages: MSG_PII, notes: NOTED },
    },
    'data.conversation': CONVERSATION,
};
export default reads({
    path: '/conversations/{cnv:1}/brief',
    scopes: ['conversation_read'],
    ofConversation: true,
    members: { ...brief, 'data.conversation.access': plain('pii', 'message_content') },
    shows: [
        stored.conversation(1),
        ['contact', [1], columns(['contact_read', ...PII], 'name', 'email')],
        stored.staff([...DIRECTORY, ...PII], 1),
        ['team', [1], { name: ['live_read'] }],
        ['channel', [1], { name: ['live_read'] }],
        ['message', [1, 2, 3, 6], columns(MSG_PII, 'text', 'language')],
        ['message', [5], { language: MSG_PII }],
        ['visitor', [1], { nickname: MSG_PII }],
        stored.staff([...DIRECTORY, ...MSG_PII], 1, 2),
        ['note', [1, 2], columns(NOTED, 'title', 'text')],
        stored.staff(NOTED, 1, 2),
    ],
    outsiders: [
        ...said.conversation('/data/conversation'),
        ...at('/data/contacts/*', 'name', 'email'),
        '/data/operator/name',
        ...said.message('/data/messages/*'),
        ...said.note('/data/notes/*'),
    ],
    configured: at('/data', 'conversation/disposition', 'team/name', 'channel/name'),
}, {
    variant: 'include_internal',
    path: '/conversations/{cnv:1}/brief?include_internal=true&messages=3',
    scopes: ['conversation_read'],
    ofConversation: true,
    given: INTERNAL_MESSAGES,
    members: brief,
    shows: [
        stored.conversation(1),
        ['contact', [1], columns(['contact_read', ...PII], 'name', 'email')],
        stored.staff([...DIRECTORY, ...PII], 1),
        ['channel', [1], { name: ['live_read'] }],
        ['team', [1], { name: ['live_read'] }],
        ['message', [4, 6], columns(MSG_PII, 'text', 'language')],
        ['message', [5], { language: MSG_PII }],
        ['visitor', [1], { nickname: MSG_PII }],
        ['note', [1, 2], columns(NOTED, 'title', 'text')],
        stored.staff(NOTED, 1, 2),
    ],
});
//# sourceMappingURL=conversation-brief.js.map