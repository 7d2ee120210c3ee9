import { runFor, sql } from '../../core/sql.js';
import { atPrimary, mayEnter } from '../calls/guard.js';
/** Links of one person that work at the same time. A new link ends the oldest. */
const LINKS = 5;
/**
 * Stores a one-time link. Returns its end, or undefined when the console does not let the person in. Also
 * deletes links that have ended.
 */
export async function insertLink(db, { digest, person, seconds }) {
    const [row] = await db.query(sql `
    WITH lapsed AS (
      DELETE FROM gateway.sign_in_link WHERE digest IN (
        SELECT l.digest FROM gateway.sign_in_link l WHERE l.expires_at <= now() ORDER BY l.expires_at LIMIT 20
           FOR UPDATE SKIP LOCKED)
    ), oldest AS (
      DELETE FROM gateway.sign_in_link WHERE digest IN (
        SELECT l.digest FROM gateway.sign_in_link l WHERE l.person_id = ${person}
         ORDER BY l.created_at DESC OFFSET ${LINKS - 1}::integer)
    )
    INSERT INTO gateway.sign_in_link (digest, person_id, expires_at)
    SELECT ${digest}::bytea, p.id, date_trunc('milliseconds', now() + make_interval(secs => ${seconds}::double precision))
      FROM gateway.person p WHERE p.id = ${person} AND ${mayEnter}
    RETURNING expires_at AS until`);
    return row?.until;
}
/**
 * Returns whom the link would sign in. Does not use the link up, because browsers fetch links ahead of a click.
 * `network` is the caller's network. When connections are busy, the networks take turns.
 */
export async function readLink(db, { digest, network }) {
    const [row] = await db.read(runFor(network, sql `SELECT p.email, o.name AS organization FROM gateway.sign_in_link l JOIN gateway.person p ON p.id = l.person_id
      JOIN platform.organization o ON o.tenant = p.tenant
     WHERE l.digest = ${atPrimary(digest)} AND l.expires_at > now() AND ${mayEnter}`));
    return row;
}
/** Uses the link up and returns its person. Two uses at the same time get one answer. `works`: it has not ended. */
export async function takeLink(db, { digest, network }) {
    const [row] = await db.query(runFor(network, sql `DELETE FROM gateway.sign_in_link l USING gateway.person p, platform.organization o
           WHERE l.digest = ${digest} AND p.id = l.person_id AND o.tenant = p.tenant
          RETURNING p.id, o.public_id AS organization_id, l.expires_at > now() AS works`));
    return row;
}
//# sourceMappingURL=links.js.map