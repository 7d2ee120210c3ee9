import { CONTACT, said, stored } from '../../support/authority/records.js';
import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/contacts/{ctc:1}',
    scopes: ['contact_read'],
    unrestricted: true,
    members: {
        data: plain('contact'),
        'data.contact': CONTACT,
        'data.contact.access': plain('pii'),
    },
    shows: [stored.contact(1)],
    outsiders: said.contact('/data/contact'),
});
//# sourceMappingURL=contact-get.js.map