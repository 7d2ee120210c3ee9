import { ALL_FLAGS } from '../../support/authority/grants.js';
import { at, plain, write } from '../../support/authority/row.js';
export default write({
    path: '/visitors/{vis:1}/notes',
    scopes: ['conversation_read', 'visitor_notes_write', 'message_content_read', 'contact_read_pii'],
    flags: ALL_FLAGS,
    unrestricted: true,
    subject: ['visitor_id', 'vis'],
    body: () => ({ text: 'Asked for an invoice copy by post.' }),
    author: true,
    receipts: ['visitor.changed'],
    notes: 1,
    members: {
        data: plain('success', 'visitor_id', 'note', 'updated_at'),
        'data.note': plain('id', 'note_id', 'text', 'title', 'author', 'created_at'),
    },
    outsiders: at('/data/note', 'text', 'author'),
});
//# sourceMappingURL=visitor-note-add.js.map