const website = { member: 'website', table: 'website' };
const conversation = { member: 'conversation', table: 'conversation' };
const time = 'timestamptz';
/** The tables in dependency order: each table refers only to earlier tables. */
export const TABLES = [
    { name: 'subsite', owner: website, refs: [], columns: { name: 'text' }, keys: {} },
    { name: 'channel', owner: website, refs: [], columns: { name: 'text', platform: 'text' }, keys: {} },
    { name: 'team', owner: website, refs: [], columns: { name: 'text', enabled: 'boolean' }, keys: {} },
    {
        name: 'contact',
        owner: website,
        refs: [],
        columns: {
            ...text('name first_name last_name email mobile mobile_e164 phone phone_e164 company language country time_zone'),
            blocked: 'boolean',
            deleted: 'boolean',
            created_at: time,
            updated_at: time,
        },
        keys: {},
    },
    {
        name: 'visitor',
        owner: website,
        refs: [],
        links: { member: 'contacts', table: 'visitor_contact', column: 'visitor_id' },
        columns: { nickname: 'text', blocked: 'boolean', created_at: time, last_seen_at: time },
        keys: {},
    },
    {
        name: 'ai_feature',
        owner: website,
        refs: [],
        columns: { ...text('name type'), enabled: 'boolean', versions: 'integer[]', active_version: 'integer' },
        keys: {},
    },
    {
        name: 'disposition',
        owner: website,
        refs: [],
        columns: { ...text('value label group_name'), enabled: 'boolean', position: 'integer' },
        keys: {},
    },
    {
        name: 'saved_response',
        owner: website,
        refs: [],
        columns: { ...text('language label content category_name shortcut scope'), platform_id: 'integer' },
        keys: {},
    },
    { name: 'saved_link', owner: website, refs: [], columns: text('label url kind scope'), keys: {} },
    {
        name: 'offer',
        owner: website,
        refs: [],
        columns: { ...text('name type status url'), starts_at: time, ends_at: time },
        keys: {},
    },
    {
        name: 'conversation',
        owner: website,
        refs: ['visitor', 'channel', 'team', 'subsite', 'operator'].map((member) => ({ member, table: member })),
        links: { member: 'contacts', table: 'conversation_contact', column: 'conversation_id' },
        kept: ['disposition'],
        columns: {
            ...text('status platform language subject disposition rating_label'),
            rating_score: 'integer',
            created_at: time,
            updated_at: time,
            first_response_at: time,
            closed_at: time,
        },
        keys: {
            visitor_id: 'p.refs[1]',
            channel_id: 'p.refs[2]',
            team_id: 'p.refs[3]',
            subsite_id: 'p.refs[4]',
            operator_id: 'p.refs[5]',
        },
    },
    {
        name: 'message',
        owner: conversation,
        refs: [
            { member: 'author', table: 'visitor' },
            { member: 'author', table: 'operator' },
            { member: 'ai_feature', table: 'ai_feature' },
        ],
        columns: {
            ...text('author_type visibility kind text language delivery_status'),
            created_at: time,
            edited_at: time,
            ai_generated: 'boolean',
            redacted: 'boolean',
        },
        keys: {
            conversation_id: 'p.owner_id',
            author_id: 'coalesce(p.refs[1], p.refs[2])',
            ai_feature_id: 'p.refs[3]',
            in_reply_to: 'p.refs[4]',
        },
    },
    {
        name: 'file',
        owner: { member: 'message', table: 'message', parent: 'conversation_id' },
        refs: [],
        columns: {
            ...text('name media_type version sha256 disposition'),
            size: 'bigint',
            created_at: time,
            width: 'integer',
            height: 'integer',
            duration_ms: 'integer',
        },
        keys: { conversation_id: 'p.owner_parent', message_id: 'p.owner_id' },
    },
    {
        name: 'note',
        owner: { member: 'visitor', table: 'visitor' },
        refs: [{ member: 'operator', table: 'operator' }],
        columns: { ...text('title text'), created_at: time },
        keys: { visitor_id: 'p.owner_id', operator_id: 'p.refs[1]' },
        // For notes of the gateway, a helpdesk names the user of the API token as the author.
        kept: ['operator_id', 'created_at'],
    },
    {
        name: 'ai_result',
        owner: conversation,
        refs: [],
        columns: {
            topics: 'text[]',
            sentiment: 'double precision',
            confidence: 'double precision',
            ...text('resolution outcome'),
            first_contact_resolved: 'boolean',
        },
        keys: { conversation_id: 'p.owner_id' },
    },
];
function text(names) {
    return Object.fromEntries(names.split(' ').map((name) => [name, 'text']));
}
/**
 * How many batches of a table are written at a time: two, for both cores. Two batches of files would wait for each
 * other to update the totals of one conversation.
 */
export const lanes = (table) => (table.name === 'file' ? 1 : 2);
//# sourceMappingURL=tables.js.map