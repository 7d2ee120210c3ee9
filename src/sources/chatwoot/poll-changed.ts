import { type Fragment, raw, sql } from '../../core/sql.ts';
import { type Desk, PAGE_ROWS } from './desk.ts';
import { ID_MAX, type Kind } from './kinds.ts';
import { type Ids, KINDS_BY_TIME } from './poll-ids.ts';

export type Timed = (typeof KINDS_BY_TIME)[number];
export const isTimed = (kind: Kind): kind is Timed => KINDS_BY_TIME.some((one) => one === kind);
/** Tables with few rows. Each round reads them whole. */
export const SMALL = ['accounts', 'inboxes', 'teams', 'agent_bots', 'captain_assistants', 'canned_responses'] as const;
export const isSmall = (kind: Kind): boolean => SMALL.some((one) => one === kind);

/** Only the newest messages are searched for changes, because Chatwoot has no index on `messages.updated_at`. */
const RECENT = 1_000_000;

/** What a round looks for: rows that changed since `low`, and rows with ids after `from`, up to `to`. */
export interface Window {
  readonly low: string;
  readonly from: Ids;
  readonly to: Ids;
}

/**
 * The next messages that are new or changed. Each one is looked up by its id. With a condition `id IN (…)`,
 * PostgreSQL compared each message with each one of the window when its statistics were old: 12.5 million comparisons and
 * 3.8 s for 5,000 messages (24 November 2026).
 */
function nextMessages(desk: Desk, { low, from: above, to }: Window, after: number): Fragment {
  const { from, own, key } = desk.queries.messages;
  const messages = raw(desk.table('messages'));
  const since = sql`${low}::timestamp`;
  return sql`(SELECT q.id FROM (
        SELECT x.id FROM ${messages} x
         WHERE x.id > coalesce((SELECT y.id FROM ${messages} y ORDER BY y.id DESC OFFSET ${RECENT}::integer LIMIT 1), 0)
           AND x.updated_at >= ${since}
        UNION SELECT x.id FROM ${raw(desk.table('conversations'))} y JOIN ${messages} x ON x.conversation_id = y.id
         WHERE y.account_id = ${desk.names.account}::bigint AND y.updated_at >= ${since} AND x.updated_at >= ${since}
        UNION SELECT x.message_id FROM ${raw(desk.table('attachments'))} x WHERE x.updated_at >= ${since}
        UNION SELECT x.id FROM ${messages} x WHERE x.id > ${above.messages}::bigint AND x.id <= ${to.messages}::bigint) w
      CROSS JOIN LATERAL (SELECT ${raw(`${key} AS id FROM ${from} WHERE ${own} AND ${key}`)} = w.id LIMIT 1) q
     WHERE w.id > ${after}::bigint AND w.id <= ${ID_MAX}::bigint ORDER BY w.id LIMIT ${PAGE_ROWS}::integer)`;
}

/** The condition for rows of a kind that changed since the start of the window, or on which a new row hangs. */
function changed(desk: Desk, kind: Exclude<Timed, 'messages'>, low: string, from: Ids) {
  const { account } = desk.names;
  const t = (name: Parameters<Desk['table']>[0]) => raw(desk.table(name));
  const since = sql`${low}::timestamp`;
  switch (kind) {
    case 'contacts':
      return sql`p.updated_at >= ${since}`;
    case 'contact_inboxes':
      // The last visit of a visitor is a column of the conversations.
      return sql`(v.updated_at >= ${since} OR v.id IN (SELECT c.contact_inbox_id FROM ${t('conversations')} c
        WHERE c.account_id = ${account}::bigint AND c.updated_at >= ${since}
        UNION SELECT c.contact_inbox_id FROM ${t('conversations')} c WHERE c.id > ${from.conversations}::bigint))`;
    case 'conversations':
      return sql`(c.updated_at >= ${since} OR c.last_activity_at >= ${since}
        OR c.id IN (SELECT r.conversation_id FROM ${t('csat_survey_responses')} r WHERE r.updated_at >= ${since}
          UNION SELECT r.conversation_id FROM ${t('csat_survey_responses')} r WHERE r.id > ${from.csat_survey_responses}::bigint
          UNION SELECT e.conversation_id FROM ${t('reporting_events')} e
             WHERE e.name = 'conversation_resolved' AND e.created_at >= ${since}
          UNION SELECT e.conversation_id FROM ${t('reporting_events')} e
             WHERE e.name = 'conversation_resolved' AND e.id > ${from.reporting_events}::bigint))`;
    case 'attachments':
      return sql`(x.updated_at >= ${since} OR x.id IN (SELECT l.record_id FROM ${t('active_storage_attachments')} l
        WHERE l.record_type = 'Attachment' AND l.created_at >= ${since}))`;
    default:
      // A visitor who changed brings the notes along.
      return sql`n.updated_at >= ${since}`;
  }
}

/** The next rows of a table with few rows, or the next changed and new rows of another table. */
export async function nextIds(
  desk: Desk,
  kind: Timed | (typeof SMALL)[number],
  window: Window,
  after: number,
): Promise<string[]> {
  const { low, from, to } = window;
  const query = desk.queries[kind];
  const key = raw(query.key);
  const those = (condition: Fragment) =>
    sql`(SELECT ${key} AS id ${raw(`FROM ${query.from} WHERE ${query.own} AND ${query.key}`)} > ${after}::bigint
      AND ${key} <= ${ID_MAX}::bigint AND ${condition} ORDER BY ${key} LIMIT ${PAGE_ROWS}::integer)`;
  const wanted = (): Fragment => {
    if (kind === 'messages') return nextMessages(desk, window, after);
    if (!isTimed(kind)) return those(raw('true'));
    // In one condition with OR, PostgreSQL would read the whole table for the new rows.
    return sql`${those(changed(desk, kind, low, from))}
      UNION ${those(sql`${key} > ${from[kind]}::bigint AND ${key} <= ${to[kind]}::bigint`)}`;
  };
  const rows = await desk.db.read<{ id: string }>(
    sql`SELECT w.id::text AS id FROM (${wanted()}) w ORDER BY w.id LIMIT ${PAGE_ROWS}::integer`,
  );
  return rows.map(({ id }) => id);
}
