import { runFor, sql } from '../../core/sql.js';
import { addressRanges } from '../../flow/address-ranges.js';
/** SQL for the member `websites` of an offer. */
const websites = (which) => sql `
  coalesce((SELECT jsonb_agg(jsonb_build_object('id', 'web_' || w.tenant || '_' || w.site, 'site', w.site::text,
                                                'name', w.name, 'timeZone', w.time_zone) ORDER BY w.site)
     FROM platform.website w WHERE ${which}), '[]') AS websites`;
/**
 * Loads the client of an active credential. A credential that a person's approval has made belongs to a client by URL,
 * and has no known secret. `network` is the caller's network. When connections are busy, the networks take turns.
 */
export async function loadInstalled(db, id, network) {
    const [row] = await db.read(runFor(network, sql `
    SELECT 'installed' AS kind, c.id, c.revision, c.environment, a.tenant, o.name AS organization, a.name, c.scopes,
           c.data_access AS "dataAccess", c.callbacks AS redirects, c.secret_digest AS "secretDigest",
           CASE WHEN c.old_secret_until > now() THEN c.old_secret_digest END AS "oldSecretDigest",
           c.allow_ip, (c.channel_ids IS NOT NULL OR c.team_ids IS NOT NULL OR c.subsite_ids IS NOT NULL) AS restricted,
           ${websites(sql `w.tenant = a.tenant AND w.site = ANY (c.sites)`)}
      FROM gateway.credential c
      JOIN gateway.installation i ON i.id = c.installation_id
      JOIN gateway.app a ON a.id = i.app_id
      JOIN platform.organization o ON o.tenant = a.tenant
     WHERE c.id = ${id} AND c.hosted_client IS NULL AND c.revoked_at IS NULL AND c.expires_at > now()`));
    return row && { ...row, admits: addressRanges(row.allow_ip) };
}
/** Loads what a signed-in person of the organization can grant to a client by URL. */
export async function loadOffer(db, tenant) {
    const [row] = await db.read(sql `
    SELECT o.name AS organization, ${websites(sql `w.tenant = o.tenant`)}
      FROM platform.organization o WHERE o.tenant = ${tenant}`);
    return row;
}
//# sourceMappingURL=clients.js.map