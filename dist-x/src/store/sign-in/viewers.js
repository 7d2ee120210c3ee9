import { fitsBigint } from '../../core/ids.js';
import { DATA_ACCESS, SCOPES, WRITE_SCOPES } from '../../core/scopes.js';
import { runFor, sql } from '../../core/sql.js';
import { atPrimary, mayConsent } from '../calls/guard.js';
/**
 * Loads the person of a session, and the website of the record if the person's organization has this website. Returns
 * undefined when the session has ended, or when the person may not see records. An owner or admin may give every right
 * to an app, so the same person may see every record of the organization (docs/decisions/search.md). `network` is the
 * network whose turn the statement waits for.
 */
export async function readViewer(db, { digest, website: id, network }) {
    const [, tenant = '', site = ''] = id.split('_');
    const [row] = await db.read(runFor(network, sql `SELECT p.id, p.tenant, p.email, o.public_id AS organization_id, o.name AS organization, w.name, w.time_zone
        FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id
        JOIN platform.organization o ON o.tenant = p.tenant
        LEFT JOIN platform.website w ON w.tenant = p.tenant AND w.tenant::text = ${tenant}::text
          AND w.site = ${fitsBigint(site) ? site : null}::bigint
       WHERE s.digest = ${atPrimary(digest)} AND s.expires_at > now() AND ${mayConsent}`));
    if (!row)
        return undefined;
    const website = row.name === null || row.time_zone === null
        ? undefined
        : { id, tenant: row.tenant, site, name: row.name, timeZone: row.time_zone };
    return {
        authority: {
            digest,
            personId: row.id,
            tenant: row.tenant,
            scopes: new Set(SCOPES.filter((scope) => !WRITE_SCOPES.includes(scope))),
            dataAccess: new Set(DATA_ACCESS),
            restrictions: {},
            websites: new Map(website && [[id, website]]),
        },
        email: row.email,
        organizationId: row.organization_id,
        organization: row.organization,
        website,
    };
}
//# sourceMappingURL=viewers.js.map