/** The least sensitive data comes first on the consent page. */
export const GROUPS = [
    {
        title: 'Service and settings',
        sentence: 'How your websites are set up. This group shows no data about visitors.',
        scopes: ['website_read', 'health_read', 'config_read', 'ai_features_read', 'live_read', 'event_read'],
    },
    {
        title: 'Conversations, without persons or text',
        sentence: 'Which conversations took place and when. This group shows no names and no texts.',
        scopes: ['conversation_read', 'contact_read', 'reports_read'],
    },
    {
        title: 'Persons',
        sentence: 'Who your contacts, visitors and operators are.',
        scopes: ['contact_read_pii', 'directory_read'],
    },
    {
        title: 'What was written and sent',
        sentence: 'What visitors and operators wrote and sent, including any personal data in it.',
        scopes: ['message_content_read', 'file_read', 'visitor_notes_read', 'internal_notes_read'],
    },
    {
        title: 'Changes and actions',
        sentence: 'What the app may do in addition to reading.',
        scopes: ['visitor_notes_write', 'conversation_update', 'config_plan', 'ai_execute'],
    },
];
export const CLASSES = {
    pii: 'personal data',
    message_content: 'message text',
    internal_notes: 'internal notes',
};
const NOTHING = { reveals: [], together: [], flags: [] };
export const SCOPE_TEXTS = {
    website_read: {
        ...NOTHING,
        title: 'Websites',
        sentence: 'See the names and time zones of the websites that the app may read.',
    },
    health_read: {
        ...NOTHING,
        title: 'Service health',
        sentence: 'See whether the parts that serve a website are working.',
    },
    config_read: {
        ...NOTHING,
        title: 'Settings',
        sentence: 'See and search the settings of AI features: name, kind and state. Instructions and credentials are not shown.',
    },
    ai_features_read: {
        ...NOTHING,
        title: 'AI features',
        sentence: 'See which AI features a website has, of which kind, and whether they are in use.',
    },
    live_read: {
        ...NOTHING,
        title: 'Channels and teams',
        sentence: 'See the names of channels and teams.',
    },
    event_read: {
        ...NOTHING,
        title: 'Event notices',
        sentence: 'Read the guide to event notices. An app that a person has approved cannot receive the notices.',
    },
    conversation_read: {
        ...NOTHING,
        title: 'Conversations',
        sentence: 'See state, times, channel and disposition of conversations, and when visitors came. See the website’s dispositions, offers, saved responses and links.',
    },
    contact_read: {
        ...NOTHING,
        title: 'Contacts, without names',
        sentence: 'See that a contact exists and whether it is blocked.',
    },
    reports_read: {
        ...NOTHING,
        title: 'Reports',
        sentence: 'See figures on conversations in which AI took part, such as their number and the time until an answer.',
        together: ['conversation_read'],
    },
    contact_read_pii: {
        title: 'Names and addresses',
        sentence: 'See and search names, e-mail addresses and telephone numbers of contacts, and their company, language and country.',
        reveals: ['pii'],
        together: [],
        flags: ['pii'],
    },
    directory_read: {
        title: 'Operators',
        sentence: 'See names, e-mail addresses, roles and teams of your operators, and which operator handled a conversation.',
        reveals: ['pii'],
        together: ['contact_read_pii'],
        flags: ['pii'],
    },
    message_content_read: {
        title: 'Messages',
        sentence: 'Read what visitors, operators and AI wrote, with subjects and ratings, and the report figures that come from these texts.',
        reveals: ['message_content', 'pii'],
        together: ['conversation_read', 'contact_read_pii'],
        flags: ['message_content', 'pii'],
    },
    file_read: {
        title: 'Files',
        sentence: 'Open and download the files that were sent in conversations.',
        reveals: ['message_content', 'pii'],
        together: ['conversation_read', 'contact_read_pii', 'message_content_read'],
        flags: ['message_content', 'pii'],
    },
    visitor_notes_read: {
        title: 'Notes on visitors',
        sentence: 'Read the internal notes of operators about visitors and contacts.',
        reveals: ['internal_notes', 'pii'],
        together: ['conversation_read', 'contact_read_pii'],
        flags: ['message_content', 'pii', 'internal_notes'],
    },
    internal_notes_read: {
        title: 'Internal messages',
        sentence: 'Read internal messages of operators in conversations, which visitors cannot see, with their files.',
        reveals: ['internal_notes', 'message_content', 'pii'],
        together: ['conversation_read', 'contact_read_pii', 'message_content_read'],
        flags: ['message_content', 'pii', 'internal_notes'],
    },
    visitor_notes_write: {
        title: 'Add notes on visitors',
        sentence: 'Add notes on visitors, in the name of one of your operators.',
        reveals: [],
        acts: 'writes',
        together: ['conversation_read', 'contact_read_pii', 'message_content_read'],
        flags: ['message_content', 'pii', 'internal_notes'],
    },
    conversation_update: {
        ...NOTHING,
        title: 'Set dispositions',
        sentence: 'Set or replace the disposition of a conversation, in the name of one of your operators.',
        acts: 'writes',
        together: ['conversation_read'],
    },
    config_plan: {
        ...NOTHING,
        title: 'Preview a change of settings',
        sentence: 'Preview what a change of an AI feature would do. The change is not made.',
        acts: 'runs',
        together: ['config_read'],
    },
    ai_execute: {
        ...NOTHING,
        title: 'Detect a language',
        sentence: 'Run language detection on a text that the app sends. Stored conversations are not read.',
        acts: 'runs',
        together: ['ai_features_read'],
    },
};
//# sourceMappingURL=scope-texts.js.map