import { raw, sql } from '../../core/sql.js';
const BELONGING = { channel: 'chn', team: 'tem', subsite: 'sst', operator: 'opr' };
const names = (refs) => sql `unnest(${[...new Set(refs)]}::text[]) AS r (ref)`;
export const findOrganizations = (db, refs) => db.query(sql `
    SELECT r.ref, o.public_id AS id, o.tenant, 0::bigint AS site, o.name, 'external_id ' || o.external_id AS of
      FROM ${names(refs)} JOIN platform.organization o ON r.ref IN (o.public_id, o.external_id) ORDER BY o.tenant`);
/** Finds websites in all organizations, because an external_id is unique only within an organization. */
export const findWebsites = (db, refs) => db.query(sql `
    SELECT r.ref, 'web_' || w.tenant || '_' || w.site AS id, w.tenant, w.site, w.name, 'organization ' || o.external_id AS of
      FROM ${names(refs)}
      JOIN platform.website w ON r.ref = w.external_id OR r.ref = 'web_' || w.tenant || '_' || w.site
      JOIN platform.organization o ON o.tenant = w.tenant ORDER BY w.tenant, w.site`);
export async function findBelonging(db, kind, tenant, refs) {
    const id = raw(`'${BELONGING[kind]}_' || x.tenant || '_' || x.site || '_' || x.id`);
    return db.query(sql `
    SELECT r.ref, ${id} AS id, x.tenant, x.site, coalesce(x.name, '') AS name, 'website web_' || x.tenant || '_' || x.site AS of
      FROM ${names(refs)}
      JOIN platform.${raw(kind)} x ON x.tenant = ${tenant} AND (r.ref = x.external_id OR r.ref = ${id})
     ORDER BY x.site, x.id`);
}
export const findApps = (db, refs) => db.query(sql `
    SELECT r.ref, a.id, a.tenant, 0::bigint AS site, a.name, 'organization ' || o.external_id AS of
      FROM ${names(refs)} JOIN gateway.app a ON r.ref IN (a.id, a.name)
      JOIN platform.organization o ON o.tenant = a.tenant ORDER BY a.created_at, a.id`);
export const findInstallations = (db, refs) => db.query(sql `
    SELECT r.ref, i.id, a.tenant, 0::bigint AS site, a.name, 'app ' || a.id AS of
      FROM ${names(refs)} JOIN gateway.installation i ON true
      JOIN gateway.app a ON a.id = i.app_id AND r.ref IN (i.id, a.id, a.name) ORDER BY i.created_at, i.id`);
//# sourceMappingURL=references.js.map