import { runFor, sql } from '../../core/sql.js';
import { isFresh } from '../administration/administrator.js';
import { atPrimary, mayEnter } from '../calls/guard.js';
/** Returns undefined when the session has ended, or when the console no longer lets the person in. */
export async function readAdministrator(db, { digest, network }) {
    const [row] = await db.read(runFor(network, sql `SELECT p.id, p.tenant, p.email, p.role, o.name AS organization, o.public_id AS organization_id, ${isFresh} AS fresh,
             (SELECT count(*)::integer FROM (SELECT FROM gateway.approval a WHERE a.tenant = p.tenant AND a.state = 'pending' AND a.command IS NOT NULL
                 AND a.requested_at > now() - interval '24 hours' AND gateway.approval_stands(a)
                 AND (p.role IN ('owner', 'admin') OR EXISTS (SELECT FROM gateway.credential c
                       WHERE c.id = a.credential_id AND c.approvers @> ARRAY[p.id])) LIMIT 1000) n) AS waiting
        FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id
        JOIN platform.organization o ON o.tenant = p.tenant
       WHERE s.digest = ${atPrimary(digest)} AND s.expires_at > now() AND ${mayEnter}`));
    return row;
}
/** The public id of the organization of a person. */
export async function organizationOfPerson(db, person) {
    const [row] = await db.query(sql `
    SELECT o.public_id AS id FROM gateway.person p JOIN platform.organization o ON o.tenant = p.tenant
     WHERE p.id = ${person}`);
    return row?.id;
}
//# sourceMappingURL=administrators.js.map