import { DIRECTORY, MSG_PII, NOTES, PII } from '../../support/authority/grants.js';
import { INTERNAL, stored } from '../../support/authority/records.js';
import { columns, plain, reads } from '../../support/authority/row.js';
const record = {
    template: '/records/{id}',
    website: 'byId',
    members: {
        '': plain('id', 'title', 'text', 'url', 'metadata'),
        metadata: plain('kind', 'website_id', 'created_at', 'truncated', 'left_out'),
    },
};
export default reads({
    ...record,
    variant: 'conversation',
    kind: 'id=cnv_…',
    path: '/records/{cnv:1}',
    scopes: ['conversation_read'],
    ofConversation: true,
    shows: [
        stored.conversation(1),
        stored.staff([...DIRECTORY, ...PII], 1),
        ['team', [1], { name: ['live_read'] }],
        ['channel', [1], { name: ['live_read'] }],
        ['contact', [1], columns(['contact_read', ...PII], 'name', 'email', 'mobile_e164')],
        ['message', [1, 2, 3, 6], { text: MSG_PII }],
        ['message', [4], { text: [...MSG_PII, ...INTERNAL.scopes, ...INTERNAL.flags] }],
        ['visitor', [1], { nickname: MSG_PII }],
        stored.staff([...DIRECTORY, ...MSG_PII], 1, 2),
        ['file', [1], columns(['file_read', ...MSG_PII], 'name', 'media_type')],
        ['file', [2], columns(['file_read', ...MSG_PII, ...INTERNAL.scopes, ...INTERNAL.flags], 'name', 'media_type')],
        ['note', [1, 2], columns(NOTES, 'title', 'text')],
        stored.staff(NOTES, 1, 2),
    ],
    outsiders: ['/title', '/text'],
}, {
    ...record,
    variant: 'contact',
    kind: 'id=ctc_…',
    path: '/records/{ctc:1}',
    scopes: ['contact_read'],
    unrestricted: true,
    shows: [
        ['contact', [1], columns(PII, 'name', 'email', 'mobile_e164', 'phone_e164', 'company', 'language', 'time_zone')],
        ['visitor', [1, 2, 4], { nickname: ['conversation_read', ...PII] }],
        ['conversation', [1, 5], { subject: ['conversation_read', ...MSG_PII] }],
        ['note', [1, 2], columns(['conversation_read', ...NOTES], 'title', 'text')],
        stored.staff(['conversation_read', ...NOTES], 1, 2),
    ],
}, {
    ...record,
    variant: 'visitor',
    kind: 'id=vis_…',
    path: '/records/{vis:1}',
    scopes: ['conversation_read'],
    unrestricted: true,
    shows: [
        stored.nickname(1),
        ['contact', [1, 2], columns(['contact_read', ...PII], 'name', 'email')],
        ['contact', [1], { mobile_e164: ['contact_read', ...PII] }],
        ['contact', [2], { mobile: ['contact_read', ...PII] }],
        ['conversation', [1, 2], { subject: MSG_PII }],
        ['note', [1, 2], columns(NOTES, 'title', 'text')],
        stored.staff(NOTES, 1, 2),
    ],
});
//# sourceMappingURL=fetch.js.map