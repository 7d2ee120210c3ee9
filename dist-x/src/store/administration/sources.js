import { raw, sql } from '../../core/sql.js';
import { door, doorAlone, LIST_MAX, mentions, readPage, within, } from './administrator.js';
/** Finds the organization with this id or external_id, or creates one with this external_id. Returns its number. */
export async function takeOrganization(db, organization) {
    const { external_id, name } = organization;
    const [row] = await db.query(sql `
    WITH found AS (
      SELECT tenant, external_id FROM platform.organization WHERE ${external_id} IN (external_id, public_id)
    ), added AS (
      INSERT INTO platform.organization (external_id, name)
      SELECT ${external_id}, ${name} WHERE NOT EXISTS (SELECT FROM found)
      ON CONFLICT DO NOTHING RETURNING tenant, external_id
    ) SELECT * FROM found UNION ALL SELECT * FROM added`);
    if (row === undefined)
        throw new Error('another command has created the same organization: run the command again');
    return row;
}
/** The organization of an administrator who may make changes now. */
export async function ownOrganization(db, by) {
    const [row] = await db.query(sql `
    ${doorAlone(by)} SELECT o.tenant, o.external_id FROM platform.organization o WHERE ${within(by, sql `o.tenant`)}`);
    return row;
}
/** Inserts a source that no gateway runs for `seconds`. False if the organization already has one of this account. */
export async function insertSource(db, source, seconds, by) {
    const rows = await db.query(sql `
    ${doorAlone(by)} INSERT INTO gateway.source (id, tenant, kind, account, mode, period, time_zone, storage, address, api_url, api_token, lease_until)
    SELECT ${source.id}, ${source.tenant}::bigint, ${source.kind}, ${source.account}, ${source.mode}, ${source.period}::integer, ${source.timeZone},
           ${source.storage}::text, ${source.address}, ${source.apiUrl}::text, ${source.apiToken}::text,
           now() + make_interval(secs => ${seconds})
     WHERE ${within(by, sql `${source.tenant}::bigint`)}
    ON CONFLICT (tenant, kind, account) DO NOTHING RETURNING id`);
    return rows.length > 0;
}
/**
 * Stores which helpdesk the records of a website come from, if it has records. False if they come from another
 * helpdesk. A helpdesk whose identifier became readable is the same one.
 */
export async function keepInstallation(db, { tenant, website }, { account, identifier }) {
    const [row] = await db.query(sql `
    INSERT INTO gateway.source_installation AS i (tenant, site, account, installation)
    SELECT w.tenant, w.site, ${account}::text, ${identifier ?? null}::text FROM platform.website w
     WHERE w.tenant = ${tenant}::bigint AND w.external_id = ${website}
    ON CONFLICT (tenant, site) DO UPDATE SET installation = coalesce(i.installation, CASE WHEN i.account = excluded.account THEN excluded.installation END)
    RETURNING i.account = ${account}::text AND coalesce(i.installation = ${identifier ?? null}::text, true) AS same`);
    return row?.same ?? true;
}
/** Sets the website of a source. From then on, gateways can run the source. */
export async function startSource(db, id, website) {
    await db.query(sql `
    UPDATE gateway.source s SET lease_until = '-infinity',
           site = (SELECT w.site FROM platform.website w WHERE w.tenant = s.tenant AND w.external_id = ${website})
     WHERE s.id = ${id}`);
}
/** Counts at most `most` rejected rows of a source. */
const view = (most) => sql `
      SELECT s.id, s.tenant, s.site, s.kind, s.account, o.public_id AS organization_id,
           'web_' || s.tenant || '_' || s.site AS website_id, s.mode, s.period, s.time_zone, s.storage, s.address,
           s.api_token IS NOT NULL AS writes_back, s.lease_until >= now() AS held,
           gateway.source_state(s) AS state, gateway.source_lag(s) AS lag_seconds, s.behind::float8 AS behind, s.last_success_at, s.last_error, s.progress, s.compared_at,
           (SELECT count(*)::integer FROM (
             SELECT DISTINCT r.origin FROM gateway.source_reject r WHERE r.source = s.id LIMIT ${most}::bigint) r) AS rejects,
           s.suppressed::float8 AS suppressed, s.unmapped, s.created_at, s.findings, s.compare_error
      FROM gateway.source s JOIN platform.organization o ON o.tenant = s.tenant`;
export async function readSources(db, id) {
    return db.query(sql `${view(null)} WHERE ${id}::text IS NULL OR s.id = ${id} ORDER BY s.created_at, s.id`);
}
/** One page of the sources in the administrator's organization. */
export const pageOfSources = (db, by, { id = null, state = null, text = null }, slice) => readPage(db, by, sql `SELECT v.* FROM (${view(LIST_MAX + 1)} WHERE ${within(by, sql `s.tenant`)} AND (${id}::text IS NULL OR s.id = ${id})) v
     WHERE (${state}::text IS NULL OR v.state = ${state}) AND ${mentions(text, [sql `v.account`, sql `coalesce(v.website_id, '')`])}`, slice);
/** The tables whose records a source can have. */
const COUNTED = [
    'channel',
    'team',
    'operator',
    'contact',
    'visitor',
    'conversation',
    'message',
    'file',
    'note',
    'saved_response',
];
/** The number of stored records of a website by table. Counts at most `most` records of each table. */
export async function countRows(db, tenant, site, most = null) {
    const counts = COUNTED.map((table) => `'${table}', (SELECT count(*) FROM (
       SELECT FROM platform.${table} t WHERE t.tenant = w.tenant AND t.site = w.site LIMIT ${most ?? 'ALL'}) t)`);
    const [row] = await db.read(sql `
    SELECT json_build_object(${raw(counts.join(', '))}) AS rows
      FROM platform.website w WHERE w.tenant = ${tenant}::bigint AND w.site = ${site}::bigint`);
    return row?.rows ?? {};
}
export const readRejects = (db, id, limit) => db.read(sql `
    SELECT origin, pointer, code FROM gateway.source_reject WHERE source = ${id} ORDER BY at, origin, pointer LIMIT ${limit}`);
/** One page of the rejects of a source in the administrator's organization. */
export const pageOfRejects = (db, by, source, slice) => readPage(db, by, sql `SELECT r.origin, r.pointer, r.code, r.at AS created_at, r.origin || r.pointer AS id
          FROM gateway.source_reject r JOIN gateway.source s ON s.id = r.source
         WHERE r.source = ${source} AND ${within(by, sql `s.tenant`)}`, slice, { long: true });
/**
 * Pauses or starts a source. Pausing takes the lease from the gateway that runs it. Starting also starts a source whose
 * first load took too long.
 */
export async function pauseSource(db, id, paused, by) {
    const rows = await db.query(sql `
    ${doorAlone(by)} UPDATE gateway.source SET paused = ${paused}, epoch = epoch + 1, lease_until = '-infinity', holder = NULL,
           last_error = CASE WHEN ${paused} THEN last_error END, failures = 0, retry_at = NULL
     WHERE id = ${id} AND (paused <> ${paused} OR NOT ${paused}::boolean AND retry_at = 'infinity') AND ${within(by, sql `tenant`)} RETURNING id`);
    return rows.length > 0;
}
/** Asks for a comparison of the whole source. Returns the time of this request, by the clock of the store. */
export async function askComparison(db, id, by) {
    const [row] = await db.query(sql `
    ${doorAlone(by)} UPDATE gateway.source SET compare_asked = now()
     WHERE id = ${id} AND ${within(by, sql `tenant`)} RETURNING compare_asked AS at`);
    return row?.at;
}
export async function compareAll(db) {
    await db.query(sql `UPDATE gateway.source SET compare_asked = now()`);
}
/** Empties the slots of removed sources. A process that was reading such a source keeps its slot for some seconds. */
export async function forgetRemoved(db) {
    await db.query(sql `
    SELECT gateway.source_forget(r.source) FROM gateway.import_run r
     WHERE r.unfinished AND r.source IS NOT NULL AND NOT EXISTS (SELECT FROM gateway.source s WHERE s.id = r.source)`);
}
/** Deletes a source. `withData` also deletes its website, with everything on it. */
export async function deleteSource(db, id, withData, by) {
    const rows = await db.query(sql `
    WITH ${door(by)}gone AS (
           DELETE FROM gateway.source WHERE id = ${id} AND ${within(by, sql `tenant`)} RETURNING tenant, site),
         data AS (DELETE FROM platform.website w USING gone g WHERE ${withData} AND w.tenant = g.tenant AND w.site = g.site)
    SELECT FROM gone`);
    await db.query(sql `SELECT gateway.source_forget(${id})`);
    return rows.length > 0;
}
//# sourceMappingURL=sources.js.map