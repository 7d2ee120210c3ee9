import { raw, sql } from '../../core/sql.js';
import { RECORD_TYPES } from './records.js';
import { lease, progress, REFUSED, REPEATED, rejecting } from './steps.js';
/** The steps for organizations, websites, operators and deletions. These types need no plan and no batches. */
/**
 * Returns the step that sets the organizations in which references are looked up. If the caller requested an
 * organization, the step uses only this organization. If the caller requested none, the step uses the organizations
 * that the lines of the run name. If the lines name no organization, the step uses all organizations.
 *
 * So a run that names its organizations cannot reach another organization, even if both have records with the same
 * external_id.
 */
export const scopeStep = (name) => ({
    name,
    types: RECORD_TYPES,
    statement: (bounds) => {
        const { stage, organization } = bounds.place;
        return sql `WITH ${lease(bounds)}, ${raw(`named AS MATERIALIZED (
  SELECT external_id AS name FROM ${stage} WHERE type = 'organization'
   UNION SELECT owner FROM ${stage} WHERE type IN ('website', 'operator')
   UNION SELECT external_id FROM ${stage} WHERE type = 'delete' AND owner = 'organization'
), scope AS MATERIALIZED (
  SELECT coalesce(array_agg(o.tenant), '{}') AS tenants,
         CASE WHEN ${organization} IS NULL THEN coalesce((SELECT array_agg(name) FROM named), '{}') ELSE '{}' END AS names
    FROM lease CROSS JOIN platform.organization o
   WHERE CASE WHEN ${organization} IS NOT NULL THEN ${organization} IN (o.external_id, o.public_id)
              WHEN EXISTS (SELECT 1 FROM named) THEN o.external_id IN (SELECT name FROM named) ELSE true END
)`)}
SELECT ${bounds.place.setScope(name)} FROM scope`;
    },
});
/** For a deletion and a record with the same key, the later line counts. This step refuses the earlier line. */
export const supersedeStep = {
    name: 'supersede',
    types: ['delete'],
    statement: (bounds) => {
        const { stage, reject } = bounds.place;
        return sql `WITH ${lease(bounds)}, ${raw(`latest AS MATERIALIZED (
  SELECT d.owner AS type, d.external_id, max(d.seq) AS seq FROM lease, ${stage} d
   WHERE d.type = 'delete' GROUP BY d.owner, d.external_id
), losing AS MATERIALIZED (
  SELECT s.type, s.seq, s.file, s.line, s.origin, s.type AS tally FROM latest l
    JOIN ${stage} s ON s.type = l.type AND s.external_id = l.external_id AND s.seq < l.seq
   UNION ALL
  SELECT d.type, d.seq, d.file, d.line, d.origin, 'delete' FROM ${stage} d
   WHERE d.type = 'delete' AND EXISTS (
     SELECT 1 FROM ${stage} s WHERE s.type = d.owner AND s.external_id = d.external_id AND s.seq > d.seq)
), gone AS (
  DELETE FROM ${stage} s USING losing l WHERE s.type = l.type AND s.seq = l.seq
), reported AS (
  INSERT INTO ${reject} (seq, place, file, line, origin, code, pointer)
  SELECT seq, 0, file, line, origin, 'duplicate_record', '/external_id' FROM losing
)`)}, counted AS MATERIALIZED (
  SELECT ${bounds.place.count('supersede', 'tally', 'count(*)')} FROM losing GROUP BY tally
)
${progress(bounds, 'supersede', undefined, {})}, (SELECT count(*) FROM counted)`;
    },
};
// Removes references to deleted records of a type, because these references have no foreign key.
const UNHOOK = {
    team: `UPDATE platform.operator t SET team_ids = array_remove(t.team_ids, f.id)
    FROM found f WHERE t.tenant = f.tenant AND t.site = f.site AND f.id = ANY (t.team_ids)`,
    message: `UPDATE platform.message t SET in_reply_to = NULL
    FROM found f JOIN platform.message m ON m.tenant = f.tenant AND m.site = f.site AND m.id = f.id
   WHERE t.tenant = m.tenant AND t.site = m.site AND t.conversation_id = m.conversation_id AND t.in_reply_to = m.id
     AND NOT EXISTS (SELECT 1 FROM found o WHERE o.tenant = t.tenant AND o.site = t.site AND o.id = t.id)`,
    visitor: `UPDATE platform.message t SET author_id = NULL
    FROM found f JOIN platform.conversation c ON c.tenant = f.tenant AND c.site = f.site AND c.visitor_id = f.id
   WHERE t.tenant = c.tenant AND t.site = c.site AND t.conversation_id = c.id
     AND t.author_type = 'visitor' AND t.author_id = f.id`,
};
export function deleteStep(type) {
    const step = `delete ${type}`;
    const place = { organization: 'NULL::bigint AS site, t.tenant AS id', website: 't.site, t.site AS id' };
    const columns = type === 'organization' || type === 'website' ? place[type] : 't.site, t.id';
    const key = type === 'organization'
        ? 't.tenant = f.tenant'
        : type === 'website'
            ? 't.tenant = f.tenant AND t.site = f.site'
            : 't.tenant = f.tenant AND t.site = f.site AND t.id = f.id';
    const unhook = UNHOOK[type];
    return {
        name: step,
        types: ['delete'],
        removes: type,
        statement: (bounds) => {
            const { place } = bounds;
            return sql `WITH ${lease(bounds)}, ${raw(`asked AS MATERIALIZED (
  SELECT s.seq, s.external_id, lead(s.seq) OVER (PARTITION BY s.external_id ORDER BY s.seq) AS newer
    FROM lease, ${place.stage} s WHERE s.type = 'delete' AND s.owner = '${type}'
), matches AS MATERIALIZED (
  SELECT t.external_id, t.tenant, ${columns} FROM platform.${type} t
   WHERE t.tenant = ANY (${place.scope}) AND t.external_id IN (SELECT external_id FROM asked)
), judged AS MATERIALIZED (
  SELECT a.seq, a.newer, a.external_id,
         CASE WHEN (SELECT count(DISTINCT m.tenant) FROM matches m WHERE m.external_id = a.external_id) > 1 THEN 'ambiguous_reference /external_id'
              WHEN a.newer IS NOT NULL THEN 'duplicate_record /external_id' END AS verdict
    FROM asked a
), found AS MATERIALIZED (
  SELECT m.* FROM judged j JOIN matches m ON m.external_id = j.external_id WHERE j.verdict IS NULL
), ${unhook === undefined ? '' : `unhooked AS (${unhook}), `}removed AS (
  DELETE FROM platform.${type} t USING found f WHERE ${key} RETURNING t.external_id
), `)}${rejecting(place, 'delete')}
${progress(bounds, step, 'delete', {
                removed: 'SELECT count(DISTINCT external_id) FROM removed',
                unchanged: `SELECT (SELECT count(*) FROM judged WHERE verdict IS NULL) - (SELECT count(DISTINCT external_id) FROM found) + (${REPEATED})`,
                rejected: REFUSED,
            })}`;
        },
    };
}
export const organizationStep = {
    name: 'write organization',
    types: ['organization'],
    statement: (bounds) => {
        const { place } = bounds;
        return sql `WITH ${lease(bounds)}, ${raw(`staged AS MATERIALIZED (
  SELECT s.seq, s.external_id, s.data->>'name' AS name, o.tenant AS old_id,
         lead(s.seq) OVER (PARTITION BY s.external_id ORDER BY s.seq) AS newer,
         ${place.organization} IS NULL OR ${place.organization} IN (s.external_id, o.public_id) AS wanted
    FROM lease CROSS JOIN ${place.stage} s
    LEFT JOIN platform.organization o ON o.external_id = s.external_id
   WHERE s.type = 'organization'
), judged AS MATERIALIZED (
  SELECT *, CASE WHEN wanted IS NOT TRUE THEN 'reference_elsewhere /external_id'
                 WHEN newer IS NOT NULL THEN 'duplicate_record /external_id' END AS verdict FROM staged
), added AS (
  INSERT INTO platform.organization (external_id, name)
  SELECT external_id, name FROM judged WHERE verdict IS NULL AND old_id IS NULL ORDER BY seq
  RETURNING tenant
), altered AS (
  UPDATE platform.organization o SET name = j.name FROM judged j
   WHERE j.verdict IS NULL AND o.tenant = j.old_id AND o.name <> j.name
  RETURNING o.tenant
), `)}${rejecting(place, 'organization')}
${progress(bounds, 'write organization', 'organization', {
            written: 'SELECT (SELECT count(*) FROM added) + (SELECT count(*) FROM altered)',
            unchanged: `SELECT (SELECT count(*) FROM judged WHERE verdict IS NULL) - (SELECT count(*) FROM added) - (SELECT count(*) FROM altered) + (${REPEATED})`,
            rejected: REFUSED,
        })}`;
    },
};
/** SQL that selects the staged websites or operators, each with the tenant of its organization. */
const inOrganization = (place, type) => `placed AS MATERIALIZED (
  SELECT s.*, o.tenant, lead(s.seq) OVER (PARTITION BY o.tenant, s.external_id ORDER BY s.seq) AS newer
    FROM lease CROSS JOIN ${place.stage} s
    LEFT JOIN platform.organization o
      ON o.external_id = s.owner AND o.tenant = ANY (${place.scope})
   WHERE s.type = '${type}'
)`;
const PLACED_VERDICT = `WHEN p.tenant IS NULL THEN 'unknown_reference /organization'
              WHEN p.newer IS NOT NULL THEN 'duplicate_record /external_id'`;
export const websiteStep = {
    name: 'write website',
    types: ['website'],
    statement: (bounds) => {
        const { place } = bounds;
        return sql `WITH ${lease(bounds)}, ${raw(`${inOrganization(place, 'website')}, judged AS MATERIALIZED (
  SELECT p.*, w.site AS old_id, CASE ${PLACED_VERDICT} END AS verdict, d.name, d.time_zone, d.crm_integrated
    FROM placed p LEFT JOIN platform.website w ON w.tenant = p.tenant AND w.external_id = p.external_id
    CROSS JOIN LATERAL json_to_record(p.data) AS d (name text, time_zone text, crm_integrated boolean)
), reserved AS MATERIALIZED (
  SELECT tenant, platform.reserve_ids(tenant, 0, 'website', n) AS last
    FROM (SELECT tenant, count(*) AS n FROM judged WHERE verdict IS NULL AND old_id IS NULL GROUP BY tenant) f
), added AS (
  INSERT INTO platform.website (tenant, site, external_id, name, time_zone, crm_integrated)
  SELECT j.tenant, r.last + row_number() OVER (PARTITION BY j.tenant ORDER BY j.seq), j.external_id, j.name, j.time_zone, j.crm_integrated
    FROM judged j JOIN reserved r ON r.tenant = j.tenant WHERE j.verdict IS NULL AND j.old_id IS NULL
  RETURNING tenant, site
), altered AS (
  UPDATE platform.website w SET name = j.name, time_zone = j.time_zone, crm_integrated = j.crm_integrated
    FROM judged j WHERE j.verdict IS NULL AND w.tenant = j.tenant AND w.site = j.old_id
     AND (w.name, w.time_zone, w.crm_integrated) IS DISTINCT FROM (j.name, j.time_zone, j.crm_integrated)
  RETURNING w.tenant, w.site
), touched AS MATERIALIZED (SELECT tenant, site FROM added UNION ALL SELECT tenant, site FROM altered
), `)}${rejecting(place, 'website')}
${progress(bounds, 'write website', 'website', {
            written: 'SELECT count(*) FROM touched',
            unchanged: `SELECT (SELECT count(*) FROM judged WHERE verdict IS NULL) - (SELECT count(*) FROM touched) + (${REPEATED})`,
            rejected: REFUSED,
        })}`;
    },
};
export const operatorStep = {
    name: 'write operator',
    types: ['operator'],
    statement: (bounds) => {
        const { place } = bounds;
        return sql `WITH ${lease(bounds)}, ${raw(`${inOrganization(place, 'operator')}, sites AS MATERIALIZED (
  SELECT p.seq, l.place, w.site FROM placed p CROSS JOIN unnest(p.links) WITH ORDINALITY AS l (website, place)
    LEFT JOIN platform.website w ON w.tenant = p.tenant AND w.external_id = l.website
), teams AS MATERIALIZED (
  SELECT p.seq, l.place, t.site, t.id,
         EXISTS (SELECT 1 FROM sites s WHERE s.seq = p.seq AND s.site = t.site) AS here
    FROM placed p CROSS JOIN unnest(p.refs) WITH ORDINALITY AS l (team, place)
    LEFT JOIN platform.team t ON t.tenant = p.tenant AND t.external_id = l.team
), judged AS MATERIALIZED (
  SELECT p.*, (SELECT min(o.id) FROM platform.operator o WHERE o.tenant = p.tenant AND o.external_id = p.external_id) AS old_id,
         CASE ${PLACED_VERDICT}
              WHEN s.unknown IS NOT NULL THEN 'unknown_reference /websites/' || (s.unknown - 1)
              WHEN t.unknown IS NOT NULL THEN 'unknown_reference /teams/' || (t.unknown - 1)
              WHEN t.elsewhere IS NOT NULL THEN 'reference_elsewhere /teams/' || (t.elsewhere - 1) END AS verdict
    FROM placed p
    LEFT JOIN (SELECT seq, min(place) FILTER (WHERE site IS NULL) AS unknown FROM sites GROUP BY seq) s ON s.seq = p.seq
    LEFT JOIN (SELECT seq, min(place) FILTER (WHERE id IS NULL) AS unknown, min(place) FILTER (WHERE NOT here) AS elsewhere
                 FROM teams GROUP BY seq) t ON t.seq = p.seq
), reserved AS MATERIALIZED (
  SELECT tenant, platform.reserve_ids(tenant, 0, 'operator', n) AS last
    FROM (SELECT tenant, count(*) AS n FROM judged WHERE verdict IS NULL AND old_id IS NULL GROUP BY tenant) f
), numbered AS MATERIALIZED (
  SELECT j.seq, j.tenant, j.external_id, j.data, coalesce(j.old_id, r.last
           + row_number() OVER (PARTITION BY j.tenant, j.old_id IS NULL ORDER BY j.seq)) AS id
    FROM judged j LEFT JOIN reserved r ON r.tenant = j.tenant WHERE j.verdict IS NULL
), wanted AS MATERIALIZED (
  SELECT DISTINCT n.tenant, s.site, n.id, n.external_id, d.name, d.email, d.role, d.enabled,
         ARRAY(SELECT DISTINCT t.id FROM teams t WHERE t.seq = n.seq AND t.site = s.site ORDER BY t.id) AS team_ids
    FROM numbered n JOIN sites s ON s.seq = n.seq
    CROSS JOIN LATERAL json_to_record(n.data) AS d (name text, email text, role text, enabled boolean)
), altered AS (
  UPDATE platform.operator t SET name = w.name, email = w.email, role = w.role, enabled = w.enabled, team_ids = w.team_ids
    FROM wanted w WHERE t.tenant = w.tenant AND t.site = w.site AND t.id = w.id
     AND (t.name, t.email, t.role, t.enabled, t.team_ids) IS DISTINCT FROM (w.name, w.email, w.role, w.enabled, w.team_ids)
  RETURNING t.tenant, t.site, t.id
), added AS (
  INSERT INTO platform.operator (tenant, site, id, external_id, name, email, role, enabled, team_ids)
  SELECT * FROM wanted w WHERE NOT EXISTS (
    SELECT 1 FROM platform.operator t WHERE t.tenant = w.tenant AND t.site = w.site AND t.id = w.id)
  RETURNING tenant, site, id
), left_sites AS (
  DELETE FROM platform.operator t USING numbered n
   WHERE t.tenant = n.tenant AND t.external_id = n.external_id
     AND NOT EXISTS (SELECT 1 FROM sites s WHERE s.seq = n.seq AND s.site = t.site)
  RETURNING t.tenant, t.site, t.id
), touched AS MATERIALIZED (
  SELECT tenant, site, id FROM altered UNION SELECT tenant, site, id FROM added UNION SELECT tenant, site, id FROM left_sites
), `)}${rejecting(place, 'operator')}
${progress(bounds, 'write operator', 'operator', {
            written: 'SELECT count(DISTINCT (tenant, id)) FROM touched',
            unchanged: `SELECT (SELECT count(*) FROM judged WHERE verdict IS NULL) - (SELECT count(DISTINCT (tenant, id)) FROM touched) + (${REPEATED})`,
            rejected: REFUSED,
        })}`;
    },
};
//# sourceMappingURL=special.js.map