import { sql } from '../../core/sql.js';
import { atPrimary, hex, mayEnter } from '../calls/guard.js';
/** Returns the memberships with these digests, oldest record first. Leaves out people whom the console no longer lets in. */
export const readMemberships = (db, digests) => db.read(sql `
    SELECT s.digest, p.id AS person, o.name AS organization
      FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id
      JOIN platform.organization o ON o.tenant = p.tenant
     WHERE s.digest = ANY (${atPrimary(sql `${digests.map(hex)}::bytea[]`)}::bytea[]) AND s.expires_at > now() AND ${mayEnter}
     ORDER BY p.created_at, p.id`);
/**
 * Makes the session `to` of the chosen membership `from`, and ends the other memberships in `all`. Returns false if the
 * membership has ended in the meantime, for example because the person's password has changed.
 */
export async function takeMembership(db, { from, all, to, seconds }) {
    const rows = await db.query(sql `
    WITH taken AS (
      UPDATE gateway.session s
         SET digest = ${to}, created_at = now(),
             expires_at = now() + make_interval(secs => ${seconds}::double precision)
        FROM gateway.person p
       WHERE s.digest = ${from} AND s.expires_at > now() AND p.id = s.person_id AND ${mayEnter}
      RETURNING 1 AS one
    ), ended AS (
      DELETE FROM gateway.session WHERE digest = ANY (${all.map(hex)}::bytea[]) AND digest <> ${from}
    ) SELECT one FROM taken`);
    return rows.length > 0;
}
export async function endMemberships(db, digests) {
    await db.query(sql `DELETE FROM gateway.session WHERE digest = ANY (${digests.map(hex)}::bytea[])`);
}
//# sourceMappingURL=memberships.js.map