import { emptyWorld, STORED } from './difference.js';
const PAGE = 5_000;
const time = (column) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const times = (...columns) => columns.map((column) => `${time(`x.${column}`)} AS ${column}`).join(', ');
/** The external id of the row that a column refers to. */
const ref = (table, column, member) => `(SELECT r.external_id FROM platform.${table} r WHERE r.tenant = x.tenant AND r.site = x.site AND r.id = x.${column}) AS ${member}`;
const links = (pairs, column) => `ARRAY(SELECT c.external_id FROM platform.${pairs} p JOIN platform.contact c ON c.tenant = p.tenant AND c.site = p.site AND c.id = p.contact_id
     WHERE p.tenant = x.tenant AND p.site = x.site AND p.${column} = x.id ORDER BY c.external_id COLLATE "C") AS contacts`;
const MEMBERS = {
    organization: 'x.name',
    website: 'x.name, x.time_zone, x.crm_integrated',
    channel: 'x.name, x.platform',
    team: 'x.name, x.enabled',
    operator: `x.name, x.email, x.role, x.enabled, ARRAY(SELECT t.external_id FROM platform.team t
     WHERE t.tenant = x.tenant AND t.site = x.site AND t.id = ANY (x.team_ids) ORDER BY t.external_id COLLATE "C") AS teams`,
    contact: `x.name, x.first_name, x.last_name, x.email, x.mobile, x.mobile_e164, x.phone, x.company, x.language, x.country, x.time_zone,
     x.blocked, x.deleted, ${times('created_at', 'updated_at')}`,
    visitor: `x.nickname, x.blocked, ${links('visitor_contact', 'visitor_id')}, ${times('created_at', 'last_seen_at')}`,
    saved_response: 'x.language, x.label, x.content, x.category_name, x.shortcut, x.platform_id, x.scope',
    conversation: `${ref('visitor', 'visitor_id', 'visitor')}, ${ref('channel', 'channel_id', 'channel')}, ${ref('team', 'team_id', 'team')},
     ${ref('operator', 'operator_id', 'operator')}, ${links('conversation_contact', 'conversation_id')}, x.status, x.platform, x.language, x.subject,
     x.rating_label, x.rating_score, ${times('created_at', 'updated_at', 'first_response_at', 'closed_at')}, x.message_count, x.visitor_messages,
     x.bot_messages, x.operator_messages, ${times('last_message_at', 'first_visitor_at', 'first_reply_at', 'first_operator_reply_at')}, x.response_count`,
    message: `${ref('conversation', 'conversation_id', 'conversation')}, x.author_type,
     CASE x.author_type WHEN 'visitor' THEN (SELECT r.external_id FROM platform.visitor r WHERE r.tenant = x.tenant AND r.site = x.site AND r.id = x.author_id)
       ELSE (SELECT r.external_id FROM platform.operator r WHERE r.tenant = x.tenant AND r.site = x.site AND r.id = x.author_id) END AS author,
     x.visibility, x.kind, x.text, x.language, ${times('created_at', 'edited_at')}, x.delivery_status, ${ref('message', 'in_reply_to', 'in_reply_to')},
     x.ai_generated, x.redacted, x.attachment_count`,
    file: `${ref('message', 'message_id', 'message')}, x.name, x.media_type, x.size::float8 AS size, x.disposition, ${times('created_at')}`,
    note: `${ref('visitor', 'visitor_id', 'visitor')}, ${ref('operator', 'operator_id', 'operator')}, x.title, x.text, ${times('created_at')}`,
};
/** What the gateway holds for the organization, without notes that were written in the gateway itself. */
export async function stored(sql, tenant) {
    const world = emptyWorld();
    for (const type of STORED) {
        const own = type === 'note' ? "AND x.external_id LIKE 'cw:%'" : '';
        const rows = sql.unsafe(`SELECT x.external_id AS key, (SELECT to_jsonb(q) FROM (SELECT ${MEMBERS[type]}) q) AS row FROM platform.${type} x WHERE x.tenant = $1 ${own}`, [tenant]);
        for await (const page of rows.cursor(PAGE)) {
            for (const { key, row } of page)
                world[type].set(key, { members: row, optional: false });
        }
    }
    return world;
}
/** Conversations whose messages are not in Chatwoot's order in the gateway: by mapped time, then by id. */
export async function misordered(sql, tenant) {
    const rows = await sql `
    WITH placed AS (
      SELECT conversation_id, row_number() OVER (PARTITION BY conversation_id ORDER BY id) AS here,
             row_number() OVER (PARTITION BY conversation_id ORDER BY created_at, split_part(external_id, ':', 4)::bigint) AS there
        FROM platform.message WHERE tenant = ${tenant}
    ) SELECT external_id AS id FROM platform.conversation
       WHERE tenant = ${tenant} AND id IN (SELECT conversation_id FROM placed WHERE here <> there) ORDER BY 1`;
    return rows.map(({ id }) => id);
}
//# sourceMappingURL=stored.js.map