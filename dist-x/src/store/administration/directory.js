import { sql } from '../../core/sql.js';
export const readOrganizations = (db) => db.query(sql `
    SELECT o.public_id AS id, o.external_id, o.name, o.keep_messages_days,
           (SELECT count(*)::integer FROM platform.website w WHERE w.tenant = o.tenant) AS websites,
           (SELECT count(*)::integer FROM gateway.app a WHERE a.tenant = o.tenant) AS apps,
           (SELECT count(*)::integer FROM gateway.person p WHERE p.tenant = o.tenant) AS people
      FROM platform.organization o ORDER BY o.tenant`);
export async function keepMessages(db, tenant, days) {
    // The next round begins at once, at the first message.
    await db.query(sql `
    WITH kept AS (
      UPDATE platform.organization SET keep_messages_days = ${days}::integer WHERE tenant = ${tenant} RETURNING tenant
    )
    UPDATE gateway.retention_round r SET began_at = '-infinity', ended_at = '-infinity' FROM kept WHERE r.tenant = kept.tenant`);
}
export const readWebsites = (db, { tenant = null }) => db.query(sql `
    SELECT 'web_' || w.tenant || '_' || w.site AS id, w.external_id, w.name, w.time_zone,
           o.public_id AS organization_id, o.external_id AS organization_external_id
      FROM platform.website w JOIN platform.organization o ON o.tenant = w.tenant
     WHERE ${tenant}::bigint IS NULL OR w.tenant = ${tenant} ORDER BY w.tenant, w.site`);
//# sourceMappingURL=directory.js.map