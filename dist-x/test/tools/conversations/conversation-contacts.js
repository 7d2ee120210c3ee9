import { CONTACT, said, stored } from '../../support/authority/records.js';
import { always, plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/conversations/{cnv:1}/contacts',
    scopes: ['conversation_read', 'contact_read', 'contact_read_pii'],
    flags: ['pii'],
    ofConversation: true,
    members: {
        data: plain('conversation_id', 'contacts', 'next_cursor', 'coverage'),
        'data.contacts.*': CONTACT,
    },
    list: ['data.contacts', 'id', always(1)],
    cursor: 'ctc',
    shows: [stored.contact(1)],
    outsiders: said.contact('/data/contacts/*'),
});
//# sourceMappingURL=conversation-contacts.js.map