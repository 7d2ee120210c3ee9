import { sql } from '../../core/sql.js';
import { atPrimary, mayConsent, mayEnter } from '../calls/guard.js';
const SESSIONS = 20;
/**
 * Makes a session that lasts `seconds`. Returns false when the person was disabled or lost the role in the meantime, or
 * when the verified password is no longer the person's password. A share lock on the person makes sure that such a
 * change comes either before the session or after it. The lists of approvers change under this lock, too.
 *
 * A person has at most twenty sessions. A new session ends the oldest session.
 */
export async function createSession(db, session) {
    const { digest, person, seconds, password = null } = session;
    const rows = await db.query(sql `
    WITH lapsed AS (
      DELETE FROM gateway.session WHERE digest IN (
        SELECT s.digest FROM gateway.session s WHERE s.expires_at <= now() ORDER BY s.expires_at LIMIT 2
           FOR UPDATE SKIP LOCKED)
    ), who AS (
      SELECT p.id FROM gateway.person p
       WHERE p.id = ${person} AND ${mayEnter} AND (${password}::text IS NULL OR p.password = ${password}) FOR SHARE
    ), oldest AS (
      DELETE FROM gateway.session WHERE digest IN (
        SELECT s.digest FROM who JOIN gateway.session s ON s.person_id = who.id
         ORDER BY s.created_at DESC OFFSET ${SESSIONS - 1}::integer)
    )
    INSERT INTO gateway.session (digest, person_id, expires_at)
    SELECT ${digest}::bytea, who.id, now() + make_interval(secs => ${seconds}::double precision) FROM who
     WHERE gateway.still_enters(who.id)
    RETURNING person_id`);
    return rows.length > 0;
}
/**
 * Returns the person of a session. Returns undefined when the session has ended, or when the person is disabled or no
 * longer owner or admin.
 */
export async function personOf(db, digest) {
    const [row] = await db.read(sql `
    SELECT p.id, p.tenant, p.email, p.role FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id
     WHERE s.digest = ${atPrimary(digest)} AND s.expires_at > now() AND ${mayConsent}`);
    return row;
}
/** Ends a session. Returns the id of its person, or undefined when there was no session. */
export async function endSession(db, digest) {
    const [row] = await db.query(sql `
    DELETE FROM gateway.session WHERE digest = ${digest} RETURNING person_id AS person`);
    return row?.person;
}
/** Admits an attempt to sign in, or returns the seconds to wait (0003_sign_in.sql). */
export async function beginSignIn(db, { source, account }, { window, perAccount, perSource }) {
    const [row] = await db.query(sql `
    SELECT b.recorded::text AS recorded, b.wait
      FROM gateway.begin_sign_in(${source}::text, ${account}::bytea, make_interval(secs => ${window}::double precision),
                                 ${perAccount}::integer, ${perSource}::integer) b`);
    return row?.recorded ? { source, account, recorded: row.recorded } : { wait: row?.wait ?? window };
}
/** Forgets an attempt to sign in whose password could not be checked. */
export async function forgetAttempt(db, { source, account, recorded }) {
    await db.query(sql `
    DELETE FROM gateway.sign_in_failure
     WHERE source = ${source} AND account = ${account} AND at = ${recorded}::text::timestamptz`);
}
/** Forgets all failed sign-ins of an account. Returns their number, which includes failures that no longer count. */
export async function forgetFailures(db, account) {
    const gone = await db.query(sql `DELETE FROM gateway.sign_in_failure WHERE account = ${account} RETURNING 1 AS one`);
    return gone.length;
}
/**
 * Records a successful sign-in, and remembers that the account has signed in from this source. Takes this attempt back.
 * `forgetFailures` also forgets this account's failed attempts from this source.
 */
export async function rememberSignIn(db, { source, account, recorded }, { forgetFailures }) {
    await db.query(sql `
    WITH forgotten AS (
      DELETE FROM gateway.sign_in_failure
       WHERE source = ${source} AND account = ${account} AND (${forgetFailures}::boolean OR at = ${recorded}::text::timestamptz)
    )
    INSERT INTO gateway.sign_in_place (place) VALUES (gateway.sign_in_place(${source}::text, ${account}::bytea))
    ON CONFLICT (place) DO UPDATE SET seen_at = now()`);
}
//# sourceMappingURL=sessions.js.map