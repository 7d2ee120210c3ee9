import { raw, sql } from '../../core/sql.js';
import { PAGE_ROWS } from './desk.js';
import { filter, ID_MAX } from './kinds.js';
import { KINDS_BY_TIME } from './poll-ids.js';
export const isTimed = (kind) => KINDS_BY_TIME.some((one) => one === kind);
/** Tables with few rows. Each round reads them whole. */
export const SMALL = ['accounts', 'inboxes', 'teams', 'agent_bots', 'captain_assistants', 'canned_responses'];
export const isSmall = (kind) => SMALL.some((one) => one === kind);
/** Only the newest messages are searched for changes, because Chatwoot has no index on `messages.updated_at`. */
const RECENT = 1_000_000;
/**
 * Finds the next messages that are new or changed. Each message is looked up by its id. With old statistics and a
 * condition `id IN (…)`, PostgreSQL compared each message with each message of the window: 12.5 million comparisons and
 * 3.8 s for 5,000 messages (24 November 2026).
 *
 * OFFSET 0 keeps the bounds of the ids out of the look-up by conversation. Without it, PostgreSQL read all ids of the
 * table once for each conversation: 1 s a page (25 November 2026).
 */
function nextMessages(desk, { low, from: above, to }, after) {
    const { from, own, key } = desk.queries.messages;
    const messages = raw(desk.table('messages'));
    const since = sql `${low}::timestamp`;
    return sql `(SELECT q.id FROM (
        SELECT x.id FROM ${messages} x
         WHERE x.id > coalesce((SELECT y.id FROM ${messages} y ORDER BY y.id DESC OFFSET ${RECENT}::integer LIMIT 1), 0)
           AND x.updated_at >= ${since}
        UNION SELECT z.id FROM (
          SELECT x.id FROM ${raw(desk.table('conversations'))} y JOIN ${messages} x ON x.conversation_id = y.id
           WHERE y.account_id = ${desk.names.account}::bigint AND y.updated_at >= ${since} AND x.updated_at >= ${since} OFFSET 0) z
        UNION SELECT x.message_id FROM ${raw(desk.table('attachments'))} x WHERE x.updated_at >= ${since}
        UNION SELECT x.id FROM ${messages} x WHERE x.id > ${above.messages}::bigint AND x.id <= ${to.messages}::bigint) w
      CROSS JOIN LATERAL (SELECT ${raw(`${key} AS id FROM ${from} WHERE ${filter(own)} AND ${key}`)} = w.id LIMIT 1) q
     WHERE w.id > ${after}::bigint AND w.id <= ${ID_MAX}::bigint ORDER BY w.id LIMIT ${PAGE_ROWS}::integer)`;
}
/** Writes a condition for the rows of a kind that changed since `low`, or that depend on a new row. */
function changed(desk, kind, low, from) {
    const { account } = desk.names;
    const t = (name) => raw(desk.table(name));
    const since = sql `${low}::timestamp`;
    switch (kind) {
        case 'contacts':
            return sql `p.updated_at >= ${since}`;
        case 'contact_inboxes':
            // The last visit of a visitor is a column of the conversations.
            return sql `(v.updated_at >= ${since} OR v.id IN (SELECT c.contact_inbox_id FROM ${t('conversations')} c
        WHERE c.account_id = ${account}::bigint AND c.updated_at >= ${since}
        UNION SELECT c.contact_inbox_id FROM ${t('conversations')} c WHERE c.id > ${from.conversations}::bigint))`;
        case 'conversations':
            return sql `(c.updated_at >= ${since} OR c.last_activity_at >= ${since}
        OR c.id IN (SELECT r.conversation_id FROM ${t('csat_survey_responses')} r WHERE r.updated_at >= ${since}
          UNION SELECT r.conversation_id FROM ${t('csat_survey_responses')} r WHERE r.id > ${from.csat_survey_responses}::bigint
          UNION SELECT e.conversation_id FROM ${t('reporting_events')} e
             WHERE e.name = 'conversation_resolved' AND e.created_at >= ${since}
          UNION SELECT e.conversation_id FROM ${t('reporting_events')} e
             WHERE e.name = 'conversation_resolved' AND e.id > ${from.reporting_events}::bigint))`;
        case 'attachments':
            return sql `(x.updated_at >= ${since} OR x.id IN (SELECT l.record_id FROM ${t('active_storage_attachments')} l
        WHERE l.record_type = 'Attachment' AND l.created_at >= ${since}))`;
        default:
            // When a visitor changes, report the notes too.
            return sql `n.updated_at >= ${since}`;
    }
}
/** Returns the next ids: all rows of a table with few rows, the changed and new rows of any other table. */
export async function nextIds(desk, kind, window, after) {
    const { low, from, to } = window;
    const query = desk.queries[kind];
    const key = raw(query.key);
    const those = (condition) => sql `(SELECT ${key} AS id ${raw(`FROM ${query.from} WHERE ${query.own} AND ${query.key}`)} > ${after}::bigint
      AND ${key} <= ${ID_MAX}::bigint AND ${condition} ORDER BY ${key} LIMIT ${PAGE_ROWS}::integer)`;
    const wanted = () => {
        if (kind === 'messages')
            return nextMessages(desk, window, after);
        if (!isTimed(kind))
            return those(raw('true'));
        // With both conditions in one OR, PostgreSQL would read the whole table to find the new rows.
        return sql `${those(changed(desk, kind, low, from))}
      UNION ${those(sql `${key} > ${from[kind]}::bigint AND ${key} <= ${to[kind]}::bigint`)}`;
    };
    const rows = await desk.db.read(sql `SELECT w.id::text AS id FROM (${wanted()}) w ORDER BY w.id LIMIT ${PAGE_ROWS}::integer`);
    return rows.map(({ id }) => id);
}
//# sourceMappingURL=poll-changed.js.map