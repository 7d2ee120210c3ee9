import { CONVERSATION, said, stored } from '../../support/authority/records.js';
import { page, reads, through } from '../../support/authority/row.js';
const conversations = {
    scopes: ['conversation_read'],
    members: { data: page('conversations'), 'data.conversations.*': CONVERSATION },
};
export default reads({
    ...conversations,
    path: '/conversations?website_id={web}',
    list: ['data.conversations', 'id', through([5, 3, 2, 1], [3, 1])],
    cursor: 'cnv',
    shows: [stored.conversation(1, 2, 3, 5)],
    outsiders: said.conversation('/data/conversations/*'),
    configured: ['/data/conversations/*/disposition'],
}, {
    ...conversations,
    variant: 'updated_asc',
    path: '/conversations?website_id={web}&order=updated_asc',
    list: ['data.conversations', 'id', through([1, 2, 3, 5], [1, 3])],
    cursor: 'cnv',
    shows: [stored.conversation(1, 2, 3, 5)],
}, {
    ...conversations,
    variant: 'by channel, team and subsite',
    path: '/conversations?website_id={web}&channel_id={chn:2}&team_id={tem:2}&subsite_id={sst:2}',
    list: ['data.conversations', 'id', through([2], [])],
    cursor: 'cnv',
    shows: [stored.conversation(2)],
}, {
    ...conversations,
    variant: 'contact_id',
    path: '/conversations?website_id={web}&contact_id={ctc:1}',
    given: { parameter: 'contact_id', scopes: ['contact_read', 'contact_read_pii'] },
    list: ['data.conversations', 'id', through([5, 1], [1])],
    cursor: 'cnv',
    shows: [stored.conversation(1, 5)],
}, {
    ...conversations,
    variant: 'query',
    path: '/conversations?website_id={web}&query=Zq',
    given: {
        parameter: 'query',
        scopes: ['message_content_read', 'contact_read_pii'],
        flags: ['message_content', 'pii'],
    },
    list: ['data.conversations', 'id', through([5, 3, 2, 1], [3, 1])],
    cursor: 'cnv',
    shows: [stored.conversation(1, 2, 3, 5)],
}, {
    ...conversations,
    variant: 'operator_id',
    path: '/conversations?website_id={web}&operator_id={opr:2}',
    given: { parameter: 'operator_id', scopes: ['directory_read', 'contact_read_pii'], flags: ['pii'] },
    list: ['data.conversations', 'id', through([2], [])],
    cursor: 'cnv',
    shows: [stored.conversation(2)],
});
//# sourceMappingURL=conversations-list.js.map