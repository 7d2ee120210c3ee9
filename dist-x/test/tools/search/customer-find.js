import { MSG } from '../../support/authority/grants.js';
import { always, at, columns, plain, reads } from '../../support/authority/row.js';
import { PHONE } from '../../support/authority/world.js';
const customers = {
    scopes: ['contact_read', 'contact_read_pii'],
    flags: ['pii'],
    unrestricted: true,
    members: {
        data: plain('customers', 'next_cursor'),
        'data.customers.*': {
            ...plain('contact_id', 'website_id', 'name', 'email', 'phone', 'same_number', 'same_name'),
            ...columns(['conversation_read'], ...['visitor_ids', 'conversation_count', 'last_conversation', 'last_conversations']),
        },
        'data.customers.*.last_conversation': {
            ...columns(['conversation_read'], 'id', 'created_at', 'status', 'platform', 'disposition'),
            subject: ['conversation_read', ...MSG],
        },
        'data.customers.*.last_conversations.*': {
            ...columns(['conversation_read'], 'id', 'created_at', 'status', 'platform', 'disposition'),
            subject: ['conversation_read', ...MSG],
        },
    },
    list: ['data.customers', 'contact_id', always(2, 1)],
    cursor: 'ctc',
    shows: [
        ['contact', [1, 2], columns([], 'name', 'email')],
        ['conversation', [1, 2, 3, 5], { subject: ['conversation_read', ...MSG], disposition: ['conversation_read'] }],
    ],
};
export default reads({
    ...customers,
    path: `/customers?website_id={web}&phone=${PHONE}`,
    // The answer shows the number that was searched.
    shows: [...customers.shows, ['contact', [1, 2], { phone_e164: [] }]],
    configured: at('/data/customers/*', 'last_conversation/disposition', 'last_conversations/*/disposition'),
    outsiders: at('/data/customers/*', 'name', 'email', 'phone', 'last_conversation/subject', 'last_conversations/*/subject'),
}, {
    ...customers,
    variant: 'name',
    path: '/customers?website_id={web}&name=Zq',
    shows: [...customers.shows, ['contact', [1], { mobile_e164: [] }], ['contact', [2], { phone_e164: [] }]],
});
//# sourceMappingURL=customer-find.js.map