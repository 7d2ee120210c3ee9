const READS = [
    ...['website_read', 'conversation_read', 'contact_read', 'contact_read_pii', 'message_content_read', 'file_read'],
    ...['visitor_notes_read', 'internal_notes_read', 'directory_read', 'live_read', 'reports_read', 'config_read'],
];
const ALL_DATA = ['message_content', 'pii', 'internal_notes'];
export const GRANTS = {
    us: { websites: ['web_1_1'], scopes: READS, dataAccess: ALL_DATA },
    both: { websites: ['web_1_1', 'web_1_2'], scopes: READS, dataAccess: ALL_DATA },
    /** Conversations without the people in them. */
    anonymous: { websites: ['web_1_1'], scopes: ['website_read', 'conversation_read'], dataAccess: [] },
    writer: {
        websites: ['web_1_1'],
        scopes: [...READS, 'visitor_notes_write', 'conversation_update'],
        dataAccess: ALL_DATA,
        authors: ['opr_1_1_3'],
    },
};
//# sourceMappingURL=task.js.map