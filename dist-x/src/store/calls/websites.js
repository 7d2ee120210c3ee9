import { sql } from '../../core/sql.js';
import { guarded } from './guard.js';
/** Reads the granted websites that exist, sorted by their number. */
export async function readWebsites(access) {
    const granted = [...access.authority.websites.values()];
    const { proof, rows } = await guarded(access, sql `w.site, w.name, w.time_zone, extract(epoch FROM now())::float8 * 1000 AS now`, sql `LEFT JOIN platform.website w
      ON guard.ok AND w.tenant = ${granted[0]?.tenant ?? '0'} AND w.site = ANY(${granted.map((website) => website.site)}::bigint[])
      ORDER BY w.site`);
    const answer = rows.flatMap(({ site, name, time_zone, now }) => {
        const website = granted.find((one) => one.site === site);
        return website ? [{ website_id: website.id, name, time_zone, now }] : [];
    });
    return { proof, answer };
}
/** Reads the ids of the granted websites on which the credential has an enabled author, sorted by number. */
export async function readAuthored(access) {
    const { credentialId, websites } = access.authority;
    const granted = [...websites.values()];
    const { proof, rows } = await guarded(access, sql `p.site`, sql `LEFT JOIN (gateway.native_author a
      JOIN platform.operator p ON p.tenant = a.tenant AND p.site = a.site AND p.id = a.operator_id AND p.enabled)
      ON guard.ok AND a.credential_id = ${credentialId} AND a.tenant = ${granted[0]?.tenant ?? '0'}
     AND a.site = ANY(${granted.map((website) => website.site)}::bigint[])
      ORDER BY p.site`);
    const sites = new Set(rows.map(({ site }) => site));
    return { proof, answer: granted.filter(({ site }) => sites.has(site)).map(({ id }) => id) };
}
//# sourceMappingURL=websites.js.map