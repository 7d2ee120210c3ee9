import { FILE, files, INTERNAL, said, stored } from '../../support/authority/records.js';
import { always, plain, reads } from '../../support/authority/row.js';
const attachments = {
    data: plain('conversation_id', 'message_id', 'attachments', 'next_cursor', 'coverage'),
    'data.attachments.*': FILE,
};
export default reads({
    path: '/conversations/{cnv:1}/messages/{msg:1}/attachments',
    ...files,
    members: attachments,
    list: ['data.attachments', 'id', always(1)],
    cursor: 'fil',
    shows: [stored.file(1)],
    outsiders: said.file('/data/attachments/*'),
}, {
    variant: 'internal',
    path: '/conversations/{cnv:1}/messages/{msg:4}/attachments?include_internal=true',
    ...files,
    given: INTERNAL,
    members: attachments,
    list: ['data.attachments', 'id', always(2)],
    cursor: 'fil',
    shows: [stored.file(2)],
});
//# sourceMappingURL=conversation-message-attachments.js.map