/** The groups of operations in the reference, each with a sentence about the group. */
export const TAGS = {
    Discovery: 'Who the credential is, and what the credential may do.',
    Search: 'Find records by words, and read them as text.',
    Conversations: 'Stored conversations and their messages.',
    Visitors: 'Stored visitors, their conversations and notes.',
    Contacts: 'Stored contacts, their visitors and notes.',
    Files: 'Attached files: metadata, and content in chunks. Each chunk has a SHA-256.',
    'Directory and catalogues': 'Operators, teams, channels, dispositions, saved responses, saved links and offers.',
    Reporting: 'Figures about conversations in which AI took part.',
    'AI features': 'Metadata of AI features. One operation detects the language of a text.',
    Configuration: 'Configuration metadata, the JSON Schema of this metadata, and previews of changes.',
    Events: 'Subscriptions to changes. A client pulls receipts of the changes from a subscription.',
    Audit: 'Records of the calls that the credential has made.',
    Realtime: 'Sessions of the WebSocket that streams receipts of changes. MCP and A2A do not have these operations.',
};
/** The toolset of the operations with a tag. */
export const TOOLSET_OF = {
    Discovery: 'core',
    Search: 'find',
    Conversations: 'conversations',
    Visitors: 'people',
    Contacts: 'people',
    Files: 'files',
    'Directory and catalogues': 'catalogue',
    Reporting: 'reports',
    'AI features': 'settings',
    Configuration: 'settings',
    Events: 'events',
    Audit: 'reports',
    Realtime: 'events',
};
//# sourceMappingURL=operation-tags.js.map