import { raw, sql } from '../../core/sql.js';
import { digestColumn, sift, suppressedCount } from './sift.js';
import { lease, progress, REFUSED, REPEATED, rejecting } from './steps.js';
import { lanes } from './tables.js';
const hasReplies = ({ stage }) => sql `SELECT EXISTS (SELECT 1 FROM ${raw(stage)} WHERE type = 'message' AND refs[4] IS NOT NULL) AS needed`;
/**
 * Returns the step that plans the rows of a record type. For every staged row, the step finds the website, the
 * references and the stored version. The step refuses invalid rows and gives native ids to new rows, in order of
 * creation. The step is one statement. So a killed run does not lose ids and does not assign an id twice.
 */
export function planStep(table) {
    const { name, owner, refs, links } = table;
    const step = `plan ${name}`;
    const owned = owner.table !== 'website';
    // All rows of one conversation go into the same lane. Lanes are written at the same time. If the rows of one
    // conversation were in two lanes, both lanes would update the totals of the conversation, and one lane would wait for
    // the other lane.
    const laneOf = (place) => `(${owned ? 'n.owner_id' : 'n.id'} % ${Math.min(lanes(table), place.lanes)})::integer`;
    return {
        name: step,
        types: [name],
        statement: (bounds) => {
            const { place } = bounds;
            const lane = laneOf(place);
            return sql `WITH ${lease(bounds)},
${raw(`staged AS MATERIALIZED (
  SELECT s.seq, s.external_id, s.owner, s.at, s.refs, s.links${digestColumn(table)} FROM lease, ${place.stage} s WHERE s.type = '${name}'
), owners AS MATERIALIZED (
  SELECT o.external_id, count(*) AS found, min(o.tenant) AS tenant, min(o.site) AS site,
         ${owned ? 'min(o.id)' : 'NULL::bigint'} AS id,
         ${owner.parent === undefined ? 'NULL::bigint' : `min(o.${owner.parent})`} AS parent
    FROM platform.${owner.table} o
   WHERE o.tenant = ANY (${place.scope}) AND o.external_id IN (SELECT owner FROM staged)
   GROUP BY o.external_id
), candidates AS MATERIALIZED (
  SELECT s.*, o.found, o.tenant, o.site, o.id AS owner_id, o.parent AS owner_parent,
         lead(s.seq) OVER (PARTITION BY o.tenant, s.external_id ORDER BY s.seq) AS newer
    FROM staged s LEFT JOIN owners o ON o.external_id = s.owner
)${sift(table, place)}`)}${raw(links === undefined ? '' : linked(links.member))}${raw(`, judged AS MATERIALIZED (
  SELECT p.seq, p.external_id, p.tenant, p.site, p.at, p.newer, p.owner_id, p.owner_parent, x.id AS old_id,
         ${refs.length === 0 ? 'NULL::bigint[]' : `ARRAY[${refs.map((_, i) => `r${i + 1}.id`).join(', ')}]`} AS refs,
         ${links === undefined ? 'NULL::bigint[]' : "coalesce(k.ids, '{}')"} AS links,
         CASE WHEN p.found IS NULL THEN 'unknown_reference /${owner.member}'
              WHEN p.found > 1 THEN 'ambiguous_reference /${owner.member}'
              WHEN p.newer IS NOT NULL THEN 'duplicate_record /external_id'
              WHEN x.site <> p.site THEN 'immutable_website /${owner.member}'
              ${refs.map((ref, i) => verdict(ref, i + 1)).join('\n              ')}
              ${links === undefined
                ? ''
                : `WHEN k.unknown IS NOT NULL THEN 'unknown_reference /${links.member}/' || (k.unknown - 1)
              WHEN k.elsewhere IS NOT NULL THEN 'reference_elsewhere /${links.member}/' || (k.elsewhere - 1)`}
         END AS verdict
    FROM placed p
    LEFT JOIN platform.${name} x ON x.tenant = p.tenant AND x.external_id = p.external_id
    ${refs.map((ref, i) => found(ref.table, i + 1)).join('\n    ')}
    ${links === undefined ? '' : 'LEFT JOIN linked k ON k.seq = p.seq'}
), reserved AS MATERIALIZED (
  SELECT tenant, site, platform.reserve_ids(tenant, site, '${name}', n) AS last
    FROM (SELECT tenant, site, count(*) AS n FROM judged WHERE verdict IS NULL AND old_id IS NULL GROUP BY tenant, site) f
), numbered AS (
  SELECT j.*, j.old_id IS NULL AS fresh, coalesce(j.old_id, r.last
           + row_number() OVER (PARTITION BY j.tenant, j.site, j.old_id IS NULL ORDER BY j.at NULLS FIRST, j.seq)) AS id
    FROM judged j LEFT JOIN reserved r ON r.tenant = j.tenant AND r.site = j.site
   WHERE j.verdict IS NULL
), planned AS (
  INSERT INTO ${place.plan} (type, lane, ord, seq, tenant, site, id, fresh, owner_id, owner_parent, refs, links)
  SELECT '${name}', ${lane}, row_number() OVER (PARTITION BY ${lane} ORDER BY n.tenant, n.site, ${owned ? 'n.owner_id, ' : ''}n.id),
         n.seq, n.tenant, n.site, n.id, n.fresh, n.owner_id, n.owner_parent, n.refs, n.links FROM numbered n
), `)}${rejecting(place, name)}
${progress(bounds, step, name, { unchanged: REPEATED, rejected: REFUSED, suppressed: suppressedCount(table) })}`;
        },
    };
}
// An operator has one row for each website. So the join compares the website as well as the external_id.
const found = (table, i) => `LEFT JOIN platform.${table} r${i} ON r${i}.tenant = p.tenant AND r${i}.external_id = p.refs[${i}]${table === 'operator' ? ` AND r${i}.site = p.site` : ''}`;
const verdict = ({ member, table }, i) => table === 'operator'
    ? `WHEN p.refs[${i}] IS NOT NULL AND r${i}.id IS NULL THEN CASE WHEN EXISTS (
                SELECT 1 FROM platform.operator o WHERE o.tenant = p.tenant AND o.external_id = p.refs[${i}])
                THEN 'reference_elsewhere /${member}' ELSE 'unknown_reference /${member}' END`
    : `WHEN p.refs[${i}] IS NOT NULL AND r${i}.id IS NULL THEN 'unknown_reference /${member}'
              WHEN r${i}.site <> p.site THEN 'reference_elsewhere /${member}'`;
const linked = (member) => `, linked AS MATERIALIZED (
  SELECT p.seq, array_agg(DISTINCT c.id ORDER BY c.id) AS ids,
         min(l.place) FILTER (WHERE c.id IS NULL) AS unknown, min(l.place) FILTER (WHERE c.site <> p.site) AS elsewhere
    FROM placed p CROSS JOIN unnest(p.links) WITH ORDINALITY AS l (${member}, place)
    LEFT JOIN platform.contact c ON c.tenant = p.tenant AND c.external_id = l.${member}
   GROUP BY p.seq
)`;
/** Collects statistics of the plan table, because the next step joins the table to itself. */
export const analyzePlanStep = {
    name: 'analyze plan',
    types: ['message'],
    needed: hasReplies,
    statement: ({ place }) => sql `ANALYZE ${raw(place.plan)} (type, seq, tenant, id)`,
};
/**
 * Links replies to their messages. `in_reply_to` can name a message of the same run, so this step needs the ids of all
 * messages. The step searches the plan first and then the stored messages. If a message is refused, all replies to it
 * are refused, and so are the replies to these replies.
 */
export const repliesStep = {
    name: 'link message',
    types: ['message'],
    needed: hasReplies,
    statement: (bounds) => {
        const { place } = bounds;
        return sql `WITH RECURSIVE ${lease(bounds)}, ${raw(`planned AS MATERIALIZED (
  SELECT p.lane, p.ord, p.seq, p.tenant, p.id, p.owner_id, s.external_id, s.refs[4] AS reply
    FROM lease CROSS JOIN ${place.plan} p JOIN ${place.stage} s ON s.type = 'message' AND s.seq = p.seq
   WHERE p.type = 'message'
), answers AS MATERIALIZED (
  SELECT p.lane, p.ord, p.seq, p.owner_id, t.seq AS to_seq, m.id AS stored_id, coalesce(t.id, m.id) AS to_id,
         coalesce(t.owner_id, m.conversation_id) AS to_owner
    FROM planned p
    LEFT JOIN planned t ON t.tenant = p.tenant AND t.external_id = p.reply
    LEFT JOIN platform.message m ON m.tenant = p.tenant AND m.external_id = p.reply
   WHERE p.reply IS NOT NULL
), broken (seq, verdict) AS (
  SELECT seq, CASE WHEN to_owner IS NULL THEN 'unknown_reference /in_reply_to' ELSE 'reference_elsewhere /in_reply_to' END
    FROM answers WHERE to_owner IS DISTINCT FROM owner_id
  UNION
  SELECT a.seq, 'unknown_reference /in_reply_to' FROM broken b JOIN answers a ON a.to_seq = b.seq
   WHERE a.stored_id IS NULL AND a.to_owner = a.owner_id
), judged AS MATERIALIZED (
  SELECT a.*, b.verdict, NULL::bigint AS newer FROM answers a LEFT JOIN broken b ON b.seq = a.seq
), linked AS (
  UPDATE ${place.plan} p SET refs = p.refs || j.to_id FROM judged j
   WHERE p.type = 'message' AND p.lane = j.lane AND p.ord = j.ord AND j.verdict IS NULL
), dropped AS (
  DELETE FROM ${place.plan} p USING judged j
   WHERE p.type = 'message' AND p.lane = j.lane AND p.ord = j.ord AND j.verdict IS NOT NULL
), `)}${rejecting(place, 'message')}
${progress(bounds, 'link message', 'message', { rejected: REFUSED })}`;
    },
};
//# sourceMappingURL=plan.js.map