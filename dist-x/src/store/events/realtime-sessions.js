import { Failure } from '../../core/failures.js';
import { runFor, sql } from '../../core/sql.js';
import { auditedEntry } from '../calls/audited.js';
import { atPrimary, guarded, StaleAuthority } from '../calls/guard.js';
import { repeated } from '../driver/repeated.js';
/** Calls an SQL function that changes a session. It proves the authority again after waiting for a lock. */
async function write(access, call, draft) {
    const entry = sql `json_build_object('state', 'new', 'outcome', ${call})`;
    const columns = (attempt) => sql `CASE WHEN guard.ok THEN ${draft ? sql `${auditedEntry(draft, attempt, entry)} -> 'outcome'` : call} END AS answer`;
    // A lost reply can leave an unused session or ticket in the store. The next attempt replaces the ticket.
    return repeated(async (attempt) => {
        const { proof, rows } = await guarded(access, columns(attempt), undefined, 'query');
        const answer = rows[0]?.answer;
        if (!answer)
            throw new StaleAuthority();
        if (draft && !('refused' in answer))
            draft.inserted = true;
        return { proof, answer: 'refused' in answer ? new Failure(answer.refused) : answer.done };
    });
}
/**
 * Creates a session. Times are Unix milliseconds. `not_permitted`: the origin is not registered. `inventory_limit`: too
 * many sessions.
 */
export const createSession = (access, { id, origin, sites, ticket }, draft) => {
    const { digest, revision } = access.authority;
    return write(access, sql `gateway.create_realtime_session(${digest}, ${revision}, ${origin}, ${id}, ${sites}::bigint[], ${ticket})`, draft);
};
/**
 * Creates a ticket. `not_permitted`: the origin is not registered. `not_found`: the session has another credential or
 * origin, or a website that is not granted.
 */
export const createTicket = (access, { id, origin, ticket }, draft) => {
    const { digest, revision, websites } = access.authority;
    const granted = [...websites.values()].map(({ site }) => site);
    return write(access, sql `gateway.create_realtime_ticket(${digest}, ${revision}, ${origin}, ${id}, ${granted}::bigint[], ${ticket})`, draft);
};
export const closeSession = (access, { id, origin }, draft) => {
    const { digest, revision } = access.authority;
    return write(access, sql `gateway.close_realtime_session(${digest}, ${revision}, ${origin}, ${id})`, draft);
};
/** Returns the token digest and the websites of the session that a ticket can open. The ticket stays valid. */
export async function ticketHolder(db, { session, origin, ticket }) {
    const [row] = await db.read(sql `SELECT token_digest, sites::text[] FROM gateway.realtime_session s
         WHERE s.id = ${session} AND s.ticket_digest = ${ticket} AND s.ticket_expires_at > now() AND s.origin = ${origin}
           AND s.expires_at > now()`);
    return row && { digest: row.token_digest, sites: row.sites };
}
/** A session counts as held for this many seconds after its replica has become silent. */
const LEASE = 45;
/** Uses up a ticket, which gives its session to one caller only. `expiresAt` is in Unix milliseconds. */
export async function useTicket(db, { session, origin, ticket }) {
    const [row] = await db.query(sql `SELECT gateway.use_realtime_ticket(${session}, ${origin}, ${ticket}, make_interval(secs => ${LEASE}::integer)) AS held`);
    return row?.held ? { epoch: row.held.epoch, expiresAt: row.held.expires_at } : undefined;
}
/** Returns changed and ended sessions. `changed`: the credential has a new revision, so prove the session again. */
export async function endedSessions(db, held) {
    return db.read(sql `SELECT k.session, CASE
               WHEN t.digest IS NULL THEN 'authority' WHEN s.id IS NULL THEN 'closed' WHEN s.epoch <> k.epoch THEN 'replaced'
               WHEN s.expires_at <= now() THEN 'expired' WHEN s.origin = ANY (c.origins) THEN 'changed' ELSE 'authority' END AS why
          FROM unnest(${atPrimary(sql `${held.map(({ session }) => session)}::text[]`)}, ${held.map(({ epoch }) => epoch)}::integer[],
                      ${held.map(({ digest }) => Buffer.from(digest).toString('hex'))}::text[],
                      ${held.map(({ revision }) => revision)}::integer[]) AS k (session, epoch, digest, revision)
          LEFT JOIN gateway.realtime_session s ON s.id = k.session
          LEFT JOIN (gateway.token t JOIN gateway.credential c ON c.id = t.credential_id AND c.revoked_at IS NULL AND c.expires_at > now())
            ON t.digest = decode(k.digest, 'hex') AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
         WHERE (s.epoch = k.epoch AND s.expires_at > now() AND c.revision = k.revision) IS NOT TRUE`);
}
export async function renewSessions(db, held) {
    await db.query(sql `UPDATE gateway.realtime_session s SET held_until = now() + make_interval(secs => ${LEASE}::integer)
          FROM unnest(${held.map(({ session }) => session)}::text[], ${held.map(({ epoch }) => epoch)}::integer[]) AS k (session, epoch)
         WHERE s.id = k.session AND s.epoch = k.epoch`);
}
export async function dropSessions(db, most) {
    const rows = await db.query(sql `DELETE FROM gateway.realtime_session WHERE id IN (
          SELECT id FROM gateway.realtime_session WHERE expires_at < now() - interval '1 minute'
           ORDER BY expires_at LIMIT ${most} FOR UPDATE SKIP LOCKED) RETURNING 1 AS gone`);
    return rows.length;
}
/** Releases a session whose socket has closed. A new session can replace it, oldest release first. */
export async function releaseSession(db, { session, epoch }) {
    await db.query(sql `UPDATE gateway.realtime_session SET held_until = now() WHERE id = ${session} AND epoch = ${epoch}`);
}
/** Stores acknowledgements, except for sessions with a newer socket. Returns the stored ones. */
export async function storeAcks(db, acks) {
    const rows = await db.query(sql `WITH s AS (
          -- Lock the sessions, so that nobody closes them during this statement. A closed session would violate the
          -- foreign key, and PostgreSQL would then undo all acknowledgements.
          SELECT id, epoch FROM gateway.realtime_session
           WHERE id = ANY (${acks.map(({ session }) => session)}::text[]) ORDER BY id FOR KEY SHARE
        ), k AS (
          SELECT DISTINCT ON (a.session, a.subscription) a.* FROM unnest(${acks.map(({ session }) => session)}::text[], ${acks.map(({ epoch }) => epoch)}::integer[],
                      ${acks.map(({ subscription }) => subscription)}::text[], ${acks.map(({ revision }) => revision)}::integer[],
                      ${acks.map(({ cursor }) => cursor)}::text[]) WITH ORDINALITY AS a (session, epoch, subscription, revision, cursor, n)
            JOIN s ON s.id = a.session AND s.epoch = a.epoch ORDER BY a.session, a.subscription, a.n DESC
        ), stored AS (
          INSERT INTO gateway.realtime_ack AS r (session_id, subscription_id, revision, cursor)
          SELECT k.session, k.subscription, k.revision, k.cursor FROM k
          ON CONFLICT (session_id, subscription_id) DO UPDATE SET revision = excluded.revision, cursor = excluded.cursor
        )
        SELECT k.n::integer AS n FROM k`);
    return new Set(rows.flatMap(({ n }) => acks[n - 1] ?? []));
}
export async function readAck({ db, authority }, session, subscription, revision) {
    const statement = sql `SELECT cursor FROM gateway.realtime_ack
         WHERE session_id = ${session} AND subscription_id = ${subscription} AND revision = ${revision}`;
    const [row] = await db.read(runFor(authority.appId, statement));
    return row?.cursor;
}
/** Finds the journals that grew past the given positions. One statement covers all websites that a process streams. */
export async function grownHeads(db, known) {
    const rows = await db.read(sql `SELECT k.n::integer AS n, h.position::double precision AS position
          FROM unnest(${known.map(({ tenant }) => tenant)}::bigint[], ${known.map(({ site }) => site)}::bigint[],
                      ${known.map(({ position }) => position)}::bigint[]) WITH ORDINALITY AS k (tenant, site, position, n)
          JOIN gateway.journal_head h ON h.tenant = k.tenant AND h.site = k.site AND h.position <> k.position`);
    return rows.flatMap(({ n, position }) => {
        const before = known[n - 1];
        return before ? [{ ...before, position }] : [];
    });
}
//# sourceMappingURL=realtime-sessions.js.map