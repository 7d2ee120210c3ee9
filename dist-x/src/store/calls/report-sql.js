import { both, DIRECTORY, holds, MSG, PII } from '../../core/scopes.js';
import { empty, raw, sql } from '../../core/sql.js';
import { LABEL, LABELS } from '../../views/report.js';
import { zoneName } from '../../views/zone.js';
import { callerOf } from './projection.js';
export const seenBy = (grants) => ({
    content: holds(grants, MSG),
    language: holds(grants, PII),
    operators: holds(grants, both(DIRECTORY, PII)),
});
/** SQL for the first and last local day of a report. `today` is the local day by the primary's clock. */
function days(period) {
    switch (period.range) {
        case 'today':
            return sql `today AS first, today AS last`;
        case 'last-7-days':
            return sql `today - 6 AS first, today AS last`;
        case 'last-month':
            return sql `(date_trunc('month', today::timestamp) - interval '1 month')::date AS first,
                 date_trunc('month', today::timestamp)::date - 1 AS last`;
        case 'date':
            return sql `${period.start}::text::date AS first, ${period.end}::text::date AS last`;
    }
}
const when = (condition, fragment) => (condition ? fragment : empty);
const LIMIT = raw(String(LABELS + 1));
const clipped = (label) => raw(`left(${label}, ${LABEL})`);
/**
 * SQL for pairs of label and count, largest first: one more than a report shows, so that it knows whether labels are
 * left out.
 */
const ranked = (from, label) => sql `(SELECT coalesce(jsonb_agg(jsonb_build_array(label, n) ORDER BY n DESC, label COLLATE "C"), '[]')
          FROM (SELECT ${clipped(label)} AS label, count(*) AS n FROM ${from} WHERE ${raw(label)} IS NOT NULL
                 GROUP BY 1 ORDER BY n DESC, ${clipped(label)} COLLATE "C" LIMIT ${LIMIT}) s)`;
const seconds = (from, to) => raw(`round(extract(epoch FROM avg(${to} - ${from})), 3)`);
const BASE = raw('base');
const RESULTS = raw('results');
const named = (tenant, site) => sql `base b JOIN platform.operator o ON o.tenant = ${tenant} AND o.site = ${site} AND o.id = b.operator_id`;
/**
 * SQL that counts AI results. Only classified_count and resolved_count count conversations.
 *
 * OFFSET 0 makes PostgreSQL look up the results by index. Without OFFSET 0, the planner does not know that `base` has
 * few rows, and can read the whole table of results. Measured for a day of 880 conversations in a store of 50,000
 * results: 35 ms without OFFSET 0, and 16 ms with OFFSET 0.
 *
 * Means have the exact type numeric, so a mean does not depend on the order of rows.
 */
const classified = (tenant, site) => sql `, results AS MATERIALIZED (
    SELECT b.id, a.topics, a.sentiment, a.confidence, a.resolution, a.first_contact_resolved, a.outcome
      FROM base b CROSS JOIN LATERAL (
        SELECT * FROM platform.ai_result r WHERE r.tenant = ${tenant} AND r.site = ${site} AND r.conversation_id = b.id
        OFFSET 0) a
  ), classified AS (
    SELECT count(DISTINCT id) FILTER (WHERE resolution IS NOT NULL) AS classified_count,
           count(DISTINCT id) FILTER (WHERE resolution = 'resolved') AS resolved_count,
           count(first_contact_resolved) AS first_contact_count,
           count(*) FILTER (WHERE first_contact_resolved) AS first_contact_resolved,
           round(avg(sentiment::numeric), 4) AS sentiment_average,
           round(avg(confidence::numeric), 4) AS confidence_average,
           count(confidence) AS confidence_count
      FROM results
  )`;
const MOOD = `CASE WHEN sentiment < -0.25 THEN 'negative' WHEN sentiment > 0.25 THEN 'positive'
              WHEN sentiment IS NOT NULL THEN 'neutral' END`;
// If one result names a topic twice, the topic counts once.
const TOPICS = raw(`results r JOIN LATERAL unnest(r.topics) WITH ORDINALITY AS t (topic, place)
  ON array_position(r.topics, t.topic) = t.place`);
const CONTENT_SERIES = sql `, to_jsonb(classified) AS classified,
         ${ranked(TOPICS, 'topic')} AS topics,
         ${ranked(RESULTS, `(${MOOD})`)} AS sentiment,
         ${ranked(RESULTS, 'resolution')} AS resolution,
         ${ranked(RESULTS, 'outcome')} AS outcomes,
         ${ranked(BASE, 'rating_label')} AS ratings`;
/**
 * SQL for the whole report. The SQL is joined to `guard` and adds at most one row, `r`. `now` is the time that the
 * report uses as the current time. Restrictions limit the rows of `base`, so no aggregate includes a row that the
 * caller may not see.
 *
 * Measured on PostgreSQL 15 with two shared cores, in a store of 500,000 conversations and 500,000 results. A range
 * with 50,000 AI conversations takes 0.65 s (0.25 s without content). A range with 11,000 AI conversations takes 0.14
 * s. A range with 880 AI conversations takes 0.02 s.
 */
export function reportJoin(authority, website, period, timezone, now = sql `now()`) {
    const { content, language, operators } = seenBy(authority);
    const { tenant, site } = website;
    return sql `LEFT JOIN LATERAL (
  WITH period AS MATERIALIZED (
    SELECT name, time_zone, bucket_time_zone, zone, ${days(period)}
      FROM (SELECT w.name, w.time_zone, b.bucket_time_zone, z.zone, (${now} AT TIME ZONE z.zone)::date AS today
              FROM platform.website w
              CROSS JOIN LATERAL (SELECT coalesce(${timezone ?? null}::text, w.time_zone) AS bucket_time_zone) b
              CROSS JOIN LATERAL (SELECT ${zoneName(raw('b.bucket_time_zone'))} AS zone) z
             WHERE guard.ok AND w.tenant = ${tenant} AND w.site = ${site}) w
  ), base AS MATERIALIZED (
    SELECT c.id, c.visitor_id, c.platform, c.created_at AT TIME ZONE p.zone AS local, c.created_at, c.last_message_at,
           c.message_count, c.visitor_messages, c.bot_messages, c.operator_messages, c.first_visitor_at,
           c.first_reply_at, c.first_operator_reply_at, c.response_seconds, c.response_count, c.ai_customer_facing,
           c.ai_escalated
           ${when(language, sql `, c.language`)} ${when(operators, sql `, c.operator_id`)}
           ${when(content, sql `, c.rating_label`)}
      FROM period p JOIN platform.conversation c ON c.tenant = ${tenant} AND c.site = ${site} AND c.ai_involved
       -- The index finds the days with two extra hours on each side. The condition on the local date then selects the
       -- exact rows. So a midnight that occurs twice (Havana in autumn) or never (Cairo in spring) needs no special
       -- case.
       AND c.created_at >= (p.first::timestamp AT TIME ZONE p.zone) - interval '2 hours'
       AND c.created_at < ((p.last + 1)::timestamp AT TIME ZONE p.zone) + interval '2 hours'
       AND (c.created_at AT TIME ZONE p.zone)::date BETWEEN p.first AND p.last
     WHERE ${callerOf({ authority, website }).allowed('c')}
  ), headline AS (
    SELECT count(*) AS ai_conversations, count(DISTINCT visitor_id) AS ai_touched_visitors,
           count(*) FILTER (WHERE operator_messages > 0) AS ai_assisted_conversations,
           count(*) FILTER (WHERE ai_customer_facing) AS ai_customer_facing_conversations,
           count(*) FILTER (WHERE ai_escalated) AS human_escalations
      FROM base
  ), metrics AS (
    SELECT coalesce(sum(message_count), 0) AS message_count,
           coalesce(sum(visitor_messages), 0) AS visitor_message_count,
           coalesce(sum(bot_messages), 0) AS bot_message_count,
           coalesce(sum(operator_messages), 0) AS operator_message_count,
           ${seconds('first_visitor_at', 'first_reply_at')} AS first_response_seconds,
           count(first_reply_at - first_visitor_at) AS first_response_count,
           ${seconds('first_visitor_at', 'first_operator_reply_at')} AS speed_response_seconds,
           count(first_operator_reply_at - first_visitor_at) AS speed_response_count,
           round(sum(response_seconds::numeric) / nullif(sum(response_count), 0), 3) AS average_response_seconds,
           ${seconds('created_at', 'last_message_at')} AS duration_seconds
      FROM base
  )${when(content, classified(tenant, site))}
  SELECT p.name, p.time_zone, p.bucket_time_zone, to_char(p.first, 'YYYY-MM-DD') AS start,
         to_char(p.last, 'YYYY-MM-DD') AS "end", ${now} AS generated_at,
         to_jsonb(headline) AS headline, to_jsonb(metrics) AS metrics,
         (SELECT jsonb_agg(jsonb_build_array(to_char(d, 'YYYY-MM-DD'), coalesce(n, 0)) ORDER BY d)
            FROM generate_series(p.first::timestamp, p.last::timestamp, '1 day') d
            LEFT JOIN (SELECT local::date AS day, count(*) AS n FROM base GROUP BY 1) v ON v.day = d) AS volume,
         (SELECT jsonb_agg(jsonb_build_array(lpad(h::text, 2, '0'), coalesce(n, 0)) ORDER BY h)
            FROM generate_series(0, 23) h
            LEFT JOIN (SELECT extract(hour FROM local)::integer AS hour, count(*) AS n FROM base GROUP BY 1) v
              ON v.hour = h) AS volume_hourly,
         ${ranked(BASE, 'platform')} AS platform,
         (SELECT coalesce(jsonb_agg(to_jsonb(s) ORDER BY conversation_count DESC, platform COLLATE "C"), '[]')
            FROM (SELECT ${clipped('platform')} AS platform, count(*) AS conversation_count,
                         count(last_message_at) AS sample_count,
                         ${seconds('created_at', 'last_message_at')} AS average_seconds
                    FROM base GROUP BY 1 ORDER BY 2 DESC, ${clipped('platform')} COLLATE "C" LIMIT ${LIMIT}) s
         ) AS duration_by_platform
         ${when(language, sql `, ${ranked(BASE, 'language')} AS language`)}
         ${when(operators, sql `, ${ranked(named(tenant, site), 'name')} AS operators`)}
         ${when(content, CONTENT_SERIES)}
    FROM period p CROSS JOIN headline CROSS JOIN metrics ${when(content, sql `CROSS JOIN classified`)}
) r ON true`;
}
//# sourceMappingURL=report-sql.js.map