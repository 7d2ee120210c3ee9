import { relations } from './columns.js';
/**
 * The kinds of rows, named after Chatwoot's tables. In the order of a load, a kind comes after those to which it
 * refers.
 */
export const KINDS = [
    'accounts',
    'inboxes',
    'teams',
    'users',
    'agent_bots',
    'captain_assistants',
    'contacts',
    'contact_inboxes',
    'canned_responses',
    'conversations',
    'messages',
    'attachments',
    'notes',
];
/** The record type of each kind, and the word in the external ids of the kind. */
export const RECORDS = {
    accounts: { of: 'website', word: 'website' },
    inboxes: { of: 'channel', word: 'channel' },
    teams: { of: 'team', word: 'team' },
    users: { of: 'operator', word: 'operator' },
    agent_bots: { of: 'operator', word: 'agent_bot' },
    captain_assistants: { of: 'operator', word: 'assistant' },
    contacts: { of: 'contact', word: 'contact' },
    contact_inboxes: { of: 'visitor', word: 'visitor' },
    canned_responses: { of: 'saved_response', word: 'saved_response' },
    conversations: { of: 'conversation', word: 'conversation' },
    messages: { of: 'message', word: 'message' },
    attachments: { of: 'file', word: 'file' },
    notes: { of: 'note', word: 'note' },
};
/** Writes SQL that formats a time in UTC. Chatwoot's columns have no time zone. */
const time = (expression) => `to_char(${expression}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
/** The lengths of the short texts that the import accepts, in UTF-16 units. `namePart` is a given or a family name. */
export const MAX = {
    name: 240,
    operator: 120,
    namePart: 120,
    email: 320,
    phone: 40,
    company: 240,
    subject: 2000,
    rating: 120,
    label: 240,
    shortcut: 120,
    fileName: 1024,
};
/** SQL that reads one character more than the limit, so that a longer text is noticed and memory stays small. */
const short = (expression, limit) => `left(${expression}, ${limit + 1})`;
/** The largest id at which a load and a poll can continue. Chatwoot counts its ids from 1. */
export const ID_MAX = Number.MAX_SAFE_INTEGER;
export const MESSAGE_MAX = 1_000_000;
/** `content_attributes` can hold a whole email several times. Longer attributes are not read (store/driver/wire.ts). */
export const ATTRIBUTES_MAX = 2_000_000;
const RESPONSE_MAX = 200_000;
/** Writes SQL for the number of bytes of a text, at most that of a text of `limit` characters. */
const capped = (expression, limit) => `least(coalesce(octet_length(${expression}), 0), ${4 * limit})`;
/**
 * Writes a condition for which PostgreSQL uses no index, so that it finds the rows by their ids. With old statistics,
 * PostgreSQL believes that an account has few rows. It would then look for each row among all rows of the account: 0.1
 * s to 0.5 s a page of 2,000 rows (25 November 2026, `test/sources/follow/operations.test.ts`).
 */
export const filter = (condition) => `(${condition}) IS TRUE`;
/** Writes the queries for one account of a Chatwoot with these columns. */
export function queries(account, present) {
    const t = relations(present);
    // True for a former member. The row that names such a user must be reported with the user's record.
    const former = (user) => `(u.id IS NOT NULL AND NOT EXISTS (SELECT FROM ${t('account_users')} au WHERE au.user_id = ${user} AND au.account_id = ${account}))::text AS former`;
    // A bot that wrote a message in the account is an operator.
    const wrote = (sender) => `EXISTS (SELECT FROM ${t('messages')} m WHERE m.sender_type = '${sender}' AND m.sender_id = b.id AND m.account_id = ${account})`;
    const resolved = `(SELECT ${time('coalesce(e.event_end_time, e.created_at)')} FROM ${t('reporting_events')} e
      WHERE e.conversation_id = c.id AND e.name = 'conversation_resolved' ORDER BY e.created_at DESC, e.id DESC LIMIT 1)`;
    return {
        accounts: {
            columns: `${short('a.name', MAX.name)} AS name`,
            from: `${t('accounts')} a`,
            key: 'a.id',
            own: `a.id = ${account}`,
            along: {
                from: `${t('canned_responses')} r WHERE r.account_id = a.id`,
                bytes: capped('r.content', RESPONSE_MAX),
            },
        },
        inboxes: {
            columns: `${short('i.name', MAX.name)} AS name, i.channel_type`,
            from: `${t('inboxes')} i`,
            key: 'i.id',
            own: `i.account_id = ${account}`,
        },
        teams: {
            columns: `${short('g.name', MAX.name)} AS name`,
            from: `${t('teams')} g`,
            key: 'g.id',
            own: `g.account_id = ${account}`,
        },
        users: {
            columns: `${short(`coalesce(nullif(btrim(u.display_name), ''), u.name)`, MAX.operator)} AS name,
  au.role::text AS role, (au.id IS NOT NULL)::text AS member,
  (SELECT string_agg(g.id::text, ',' ORDER BY g.id) FROM ${t('team_members')} tm JOIN ${t('teams')} g ON g.id = tm.team_id
    WHERE tm.user_id = u.id AND g.account_id = ${account}) AS teams`,
            from: `${t('users')} u LEFT JOIN ${t('account_users')} au ON au.user_id = u.id AND au.account_id = ${account}`,
            key: 'u.id',
            // A user who left the account stays an operator while a row of the account names the user.
            own: `(au.id IS NOT NULL
    OR EXISTS (SELECT FROM ${t('conversations')} c WHERE c.assignee_id = u.id AND c.account_id = ${account})
    OR EXISTS (SELECT FROM ${t('notes')} n WHERE n.user_id = u.id AND n.account_id = ${account})
    OR EXISTS (SELECT FROM ${t('messages')} m
                WHERE m.sender_type = 'User' AND m.sender_id = u.id AND m.account_id = ${account}))`,
        },
        agent_bots: {
            columns: `${short('b.name', MAX.operator)} AS name`,
            from: `${t('agent_bots')} b`,
            key: 'b.id',
            own: `(b.account_id = ${account} OR b.account_id IS NULL) AND ${wrote('AgentBot')}`,
        },
        captain_assistants: {
            columns: `${short('b.name', MAX.operator)} AS name`,
            from: `${t('captain_assistants')} b`,
            key: 'b.id',
            own: `b.account_id = ${account} AND ${wrote('Captain::Assistant')}`,
        },
        contacts: {
            columns: `${short('p.name', MAX.name)} AS name, ${short('p.last_name', MAX.name)} AS last_name, ${short('p.email', MAX.email)} AS email,
  ${short('p.phone_number', MAX.phone)} AS phone_number, p.blocked::text AS blocked, ${short('p.country_code', 40)} AS country_code,
  ${short(`p.additional_attributes ->> 'country_code'`, 40)} AS country_attribute,
  ${short(`p.additional_attributes ->> 'company_name'`, MAX.company)} AS company, ${time('p.created_at')} AS created_at`,
            from: `${t('contacts')} p`,
            key: 'p.id',
            own: `p.account_id = ${account}`,
        },
        contact_inboxes: {
            columns: `p.id::text AS contact, ${time('v.created_at')} AS created_at,
  (SELECT ${time('max(c.contact_last_seen_at)')} FROM ${t('conversations')} c WHERE c.contact_inbox_id = v.id) AS last_seen_at`,
            from: `${t('contact_inboxes')} v LEFT JOIN ${t('contacts')} p ON p.id = v.contact_id AND ${filter(`p.account_id = ${account}`)}
  LEFT JOIN ${t('inboxes')} i ON i.id = v.inbox_id AND ${filter(`i.account_id = ${account}`)}`,
            key: 'v.id',
            own: '(p.id IS NOT NULL OR i.id IS NOT NULL)',
            along: {
                from: `${t('notes')} n WHERE n.contact_id = v.contact_id AND n.account_id = ${account}`,
                bytes: capped('n.content', RESPONSE_MAX),
            },
        },
        canned_responses: {
            columns: `${short('r.short_code', MAX.label)} AS short_code, ${short('r.content', RESPONSE_MAX)} AS content, a.locale::text AS locale`,
            from: `${t('canned_responses')} r JOIN ${t('accounts')} a ON a.id = r.account_id`,
            key: 'r.id',
            own: `r.account_id = ${account}`,
            bytes: capped('r.content', RESPONSE_MAX),
        },
        conversations: {
            columns: `v.id::text AS visitor, p.id::text AS contact, i.id::text AS channel, g.id::text AS team, u.id::text AS operator,
  (c.assignee_id IS NOT NULL)::text AS assigned, i.channel_type, c.status::text AS status,
  ${short(`c.additional_attributes ->> 'mail_subject'`, MAX.subject)} AS subject,
  ${short(`c.additional_attributes ->> 'conversation_language'`, 40)} AS language,
  ${time('c.created_at')} AS created_at, ${time('greatest(c.updated_at, c.last_activity_at)')} AS updated_at,
  ${time('c.first_reply_created_at')} AS first_response_at,
  CASE WHEN c.status = 1 THEN coalesce(${resolved}, ${time('c.updated_at')}) END AS closed_at,
  s.rating::text AS rating, ${short('s.feedback_message', MAX.rating)} AS feedback, ${former('u.id')}`,
            from: `${t('conversations')} c
  LEFT JOIN ${t('contact_inboxes')} v ON v.id = c.contact_inbox_id
  LEFT JOIN ${t('contacts')} p ON p.id = c.contact_id AND ${filter('p.account_id = c.account_id')}
  LEFT JOIN ${t('inboxes')} i ON i.id = c.inbox_id AND ${filter('i.account_id = c.account_id')}
  LEFT JOIN ${t('teams')} g ON g.id = c.team_id AND ${filter('g.account_id = c.account_id')}
  LEFT JOIN ${t('users')} u ON u.id = c.assignee_id
  LEFT JOIN LATERAL (SELECT r.rating, r.feedback_message FROM ${t('csat_survey_responses')} r
    WHERE r.conversation_id = c.id ORDER BY r.created_at DESC, r.id DESC LIMIT 1) s ON true`,
            key: 'c.id',
            own: `c.account_id = ${account}`,
        },
        messages: {
            columns: `c.id::text AS conversation, v.id::text AS visitor, ${short('m.content', MESSAGE_MAX)} AS content,
  m.message_type::text AS message_type, m.private::text AS private, m.status::text AS status,
  m.content_type::text AS content_type, ${short('m.content_attributes::text', ATTRIBUTES_MAX)} AS attributes, m.sender_type,
  coalesce(u.id, b.id, h.id)::text AS sender, ${time('m.created_at')} AS created_at,
  (EXISTS (SELECT FROM ${t('attachments')} x WHERE x.message_id = m.id))::text AS attachments, ${former('u.id')}`,
            // Chatwoot deletes a conversation before its messages. Messages without a conversation are no records any more.
            from: `${t('messages')} m JOIN ${t('conversations')} c ON c.id = m.conversation_id AND ${filter('c.account_id = m.account_id')}
  LEFT JOIN ${t('contact_inboxes')} v ON v.id = c.contact_inbox_id
  LEFT JOIN ${t('users')} u ON m.sender_type = 'User' AND u.id = m.sender_id
  LEFT JOIN ${t('agent_bots')} b ON m.sender_type = 'AgentBot' AND b.id = m.sender_id
       AND (b.account_id = ${account} OR b.account_id IS NULL)
  LEFT JOIN ${t('captain_assistants')} h ON m.sender_type = 'Captain::Assistant' AND h.id = m.sender_id
       AND h.account_id = ${account}`,
            key: 'm.id',
            own: `m.account_id = ${account}`,
            bytes: `${capped('m.content', MESSAGE_MAX)} + ${capped('m.content_attributes::text', ATTRIBUTES_MAX)}`,
        },
        attachments: {
            columns: `x.message_id::text AS message, ${short('f.filename', MAX.fileName)} AS name, ${short('f.content_type', 127)} AS media_type,
  f.byte_size::text AS size, f.key, f.service_name AS service, ${time('x.created_at')} AS created_at`,
            from: `${t('attachments')} x JOIN ${t('messages')} m ON m.id = x.message_id AND ${filter('m.account_id = x.account_id')}
  JOIN ${t('conversations')} c ON c.id = m.conversation_id AND ${filter('c.account_id = m.account_id')}
  JOIN LATERAL (SELECT o.* FROM ${t('active_storage_attachments')} l JOIN ${t('active_storage_blobs')} o ON o.id = l.blob_id
    WHERE l.record_type = 'Attachment' AND l.record_id = x.id AND l.name = 'file' ORDER BY o.id DESC LIMIT 1) f ON true`,
            key: 'x.id',
            own: `x.account_id = ${account}`,
        },
        notes: {
            columns: `u.id::text AS operator, ${short('n.content', RESPONSE_MAX)} AS content, ${time('n.created_at')} AS created_at,
  (SELECT string_agg(v.id::text, ',' ORDER BY v.id) FROM ${t('contact_inboxes')} v WHERE v.contact_id = n.contact_id) AS visitors,
  ${former('u.id')}`,
            from: `${t('notes')} n JOIN ${t('contacts')} p ON p.id = n.contact_id AND ${filter('p.account_id = n.account_id')}
  LEFT JOIN ${t('users')} u ON u.id = n.user_id`,
            key: 'n.id',
            own: `n.account_id = ${account}`,
            bytes: capped('n.content', RESPONSE_MAX),
            records: `(SELECT count(*) FROM ${t('contact_inboxes')} v WHERE v.contact_id = n.contact_id)`,
        },
    };
}
//# sourceMappingURL=kinds.js.map