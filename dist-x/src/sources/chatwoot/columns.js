import { raw } from '../../core/sql.js';
const map = (type, lost) => ({
    type,
    use: 'map',
    ...(lost === undefined ? {} : { lost }),
});
const poll = { type: 'timestamp', use: 'poll' };
const count = (type) => ({ type, use: 'count', lost: 'the number of values without a place' });
const id = map('bigint');
const text = map('text');
const time = map('timestamp');
/**
 * All tables and columns of Chatwoot that the gateway reads. SELECTs, check, grants and triggers come from here. Names
 * and types are those of Chatwoot's db/schema.rb of August 2025.
 */
export const TABLES = {
    accounts: {
        columns: {
            id,
            name: text,
            created_at: { type: 'timestamp', use: 'identify' },
            locale: map('integer', 'the language of saved responses'),
        },
    },
    account_users: { columns: { id, account_id: id, user_id: id, role: map('integer') } },
    users: { columns: { id, name: text, display_name: map('text', 'the display names of operators') } },
    teams: { columns: { id, account_id: id, name: text } },
    team_members: { columns: { team_id: id, user_id: id } },
    agent_bots: { columns: { id, account_id: id, name: text }, lost: 'the bots' },
    captain_assistants: { columns: { id, account_id: id, name: text }, lost: 'the Captain assistants' },
    inboxes: { columns: { id, account_id: id, name: text, channel_type: text } },
    contacts: {
        columns: {
            id,
            account_id: id,
            name: text,
            last_name: map('text', 'the family names of contacts'),
            email: text,
            phone_number: text,
            blocked: map('boolean', 'which contacts are blocked'),
            country_code: map('text', 'the countries of contacts'),
            additional_attributes: map('jsonb', 'the companies of contacts'),
            created_at: time,
            // Chatwoot also sets this time at each message, so it does not show a change of the contact.
            updated_at: poll,
            custom_attributes: count('jsonb'),
        },
    },
    contact_inboxes: { columns: { id, contact_id: id, inbox_id: id, created_at: time, updated_at: poll } },
    conversations: {
        columns: {
            id,
            account_id: id,
            inbox_id: id,
            contact_id: id,
            contact_inbox_id: id,
            assignee_id: id,
            team_id: id,
            status: map('integer'),
            additional_attributes: map('jsonb', 'the subjects and languages of conversations'),
            first_reply_created_at: map('timestamp', 'the times of the first replies'),
            contact_last_seen_at: map('timestamp', 'the last visits of visitors'),
            last_activity_at: time,
            created_at: time,
            updated_at: time,
            custom_attributes: count('jsonb'),
            display_id: {
                type: 'integer',
                use: 'write',
                lost: 'the numbers that dispositions need on their way to Chatwoot',
            },
        },
    },
    messages: {
        columns: {
            id,
            account_id: id,
            conversation_id: id,
            content: text,
            message_type: map('integer'),
            private: map('boolean'),
            status: map('integer'),
            content_type: map('integer'),
            content_attributes: map('json'),
            sender_type: text,
            sender_id: id,
            created_at: time,
            updated_at: poll,
        },
    },
    attachments: { columns: { id, account_id: id, message_id: id, created_at: time, updated_at: poll } },
    active_storage_attachments: {
        columns: { record_type: text, record_id: id, name: text, blob_id: id, created_at: poll },
    },
    active_storage_blobs: {
        columns: {
            id,
            key: text,
            filename: text,
            content_type: text,
            byte_size: id,
            service_name: map('text', 'which files lie on the local disk'),
        },
    },
    csat_survey_responses: {
        columns: {
            id,
            conversation_id: id,
            rating: map('integer'),
            feedback_message: text,
            created_at: time,
            updated_at: poll,
        },
        lost: 'the ratings',
    },
    reporting_events: {
        columns: {
            id,
            conversation_id: id,
            name: text,
            event_end_time: map('timestamp', 'the exact times of closing'),
            created_at: time,
        },
        lost: 'the exact times of closing',
    },
    notes: {
        columns: { id, account_id: id, contact_id: id, user_id: id, content: text, created_at: time, updated_at: poll },
        lost: 'the notes',
    },
    canned_responses: {
        columns: { id, account_id: id, short_code: text, content: text },
        lost: 'the saved responses',
    },
    taggings: {
        columns: { taggable_type: count('text'), taggable_id: count('bigint'), context: count('text') },
        lost: 'the number of labels',
    },
};
// A wider type for code that walks all tables.
export const ALL = Object.entries(TABLES).map(([name, table]) => [
    name, // Object.entries forgets the type of the keys.
    table,
]);
/** Reads which of the declared columns this Chatwoot has. `pg_attribute` needs no rights. */
export const PRESENT = raw(`SELECT c.relname || '.' || a.attname AS name
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
 WHERE c.relnamespace = to_regnamespace('public') AND c.relkind IN ('r', 'p', 'v', 'm') AND a.attnum > 0
   AND NOT a.attisdropped
   AND c.relname IN (${ALL.map(([name]) => `'${name}'`).join(', ')})`);
/** Returns a function that writes a table as a subquery with exactly the declared columns. A missing column is NULL. */
export function relations(present) {
    const written = new Map();
    for (const [name, { columns }] of ALL) {
        const known = Object.keys(columns).some((column) => present.has(`${name}.${column}`));
        const list = Object.entries(columns).map(([column, { type }]) => present.has(`${name}.${column}`) ? column : `NULL::${type} AS ${column}`);
        written.set(name, `(SELECT ${list.join(', ')} ${known ? `FROM public.${name}` : 'WHERE false'})`);
    }
    return (table) => written.get(table) ?? '';
}
//# sourceMappingURL=columns.js.map