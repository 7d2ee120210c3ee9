import { stored } from '../../support/authority/records.js';
import { plain, reads, through } from '../../support/authority/row.js';
const counted = {
    scopes: ['conversation_read'],
    members: { data: plain('total', 'groups', 'other', 'timezone') },
};
const countedBy = (group) => `/conversations/count?website_id={web}&group_by=${group}`;
const group_by = (has, scopes, flags) => ({ parameter: 'group_by', has, scopes, flags });
export default reads({
    ...counted,
    path: '/conversations/count?website_id={web}',
    configured: ['/data/groups/*/key/disposition'],
}, {
    ...counted,
    variant: 'by disposition and day',
    path: countedBy('disposition,day'),
    shows: [['conversation', [1, 2, 3, 5], { disposition: [] }]],
}, {
    ...counted,
    variant: 'by team',
    path: countedBy('team'),
    list: ['data.groups', 'key.team_id', through([1, 2, Number.NaN], [1])],
    shows: [['team', [1, 2], { name: ['live_read'] }]],
}, {
    ...counted,
    variant: 'by operator',
    path: countedBy('operator'),
    given: group_by('operator', ['directory_read', 'contact_read_pii'], ['pii']),
    list: ['data.groups', 'key.operator_id', through([Number.NaN, 1, 2], [1, Number.NaN])],
    shows: [stored.staff([], 1, 2)],
    outsiders: ['/data/groups/*/name'],
}, {
    ...counted,
    variant: 'by contact',
    path: countedBy('contact'),
    given: group_by('contact', ['contact_read', 'contact_read_pii'], []),
    list: ['data.groups', 'key.contact_id', through([1, 2], [1, 2])],
    shows: [['contact', [1, 2], { name: ['pii'] }]],
}, {
    ...counted,
    variant: 'by language',
    path: countedBy('status,language'),
    given: group_by('language', ['contact_read_pii'], ['pii']),
    shows: [['conversation', [1, 2, 3, 5], { language: [] }]],
}, {
    ...counted,
    variant: 'contact_id',
    path: '/conversations/count?website_id={web}&contact_id={ctc:1}',
    given: { parameter: 'contact_id', scopes: ['contact_read', 'contact_read_pii'] },
}, {
    ...counted,
    variant: 'operator_id',
    path: '/conversations/count?website_id={web}&operator_id={opr:2}',
    given: { parameter: 'operator_id', scopes: ['directory_read', 'contact_read_pii'], flags: ['pii'] },
}, {
    ...counted,
    variant: 'subject_contains',
    path: '/conversations/count?website_id={web}&subject_contains=a',
    given: {
        parameter: 'subject_contains',
        scopes: ['message_content_read', 'contact_read_pii'],
        flags: ['message_content', 'pii'],
    },
});
//# sourceMappingURL=conversations-count.js.map