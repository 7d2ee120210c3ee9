import { CONTACT, said, stored } from '../../support/authority/records.js';
import { always, page, plain, reads } from '../../support/authority/row.js';
const contacts = {
    scopes: ['contact_read'],
    unrestricted: true,
    members: { data: page('data'), 'data.data.*': CONTACT, 'data.data.*.access': plain('pii') },
};
export default reads({
    ...contacts,
    path: '/contacts?website_id={web}',
    list: ['data.data', 'id', always(2, 1)],
    cursor: 'ctc',
    shows: [stored.contact(1, 2)],
    outsiders: said.contact('/data/data/*'),
}, {
    ...contacts,
    variant: 'query',
    path: '/contacts?website_id={web}&query=Zq',
    given: { parameter: 'query', scopes: ['contact_read_pii'], flags: ['pii'] },
    list: ['data.data', 'id', always(2, 1)],
    cursor: 'ctc',
    shows: [stored.contact(1, 2)],
});
//# sourceMappingURL=contacts-list.js.map