import { sql } from '../../core/sql.js';
/** How long (ms) a process leases an attempt: ten seconds for the attempt, the rest for the time before it. */
export const LEASE = 15_000;
/** The most attempts that run at one endpoint at the same time, over all replicas. */
const AT_ONE_ENDPOINT = 16;
/** The most attempts that run in this process at the same time. */
export const SEATS = 512;
/** This many of the SEATS are reserved for endpoints that have no running attempt. */
const RESERVED = 128;
/** An endpoint is disabled when every attempt has failed for this many seconds (three days). */
const PATIENCE = 3 * 86_400;
/** Seconds that the log of a delivery is kept. The journal keeps receipts for the same time. */
const KEPT = 7 * 86_400;
const BLOCK = 64;
/** SQL for the two padded keys of HMAC-SHA256 (RFC 2104). The store computes event ids with these keys. */
export const padded = (key) => {
    const block = new Uint8Array(BLOCK);
    block.set(key);
    return sql `${block.map((byte) => byte ^ 0x36)}::bytea, ${block.map((byte) => byte ^ 0x5c)}::bytea`;
};
/**
 * Drops deliveries that are no longer permitted, queues new receipts, and leases at most `seats` due deliveries.
 * `more`: receipts are left to queue.
 */
export async function claimDeliveries(db, { eventKey, seats, schedule, mcp }) {
    const [row] = await db.query(sql `
    SELECT c.claims, c.more FROM gateway.claim_deliveries(
      ${padded(eventKey)}, ${seats}::integer, ${RESERVED}::integer, ${AT_ONE_ENDPOINT}::integer, ${schedule.length}::integer,
      make_interval(secs => ${schedule[0] ?? 0}::double precision), ${LEASE}::integer * interval '1 millisecond', ${mcp}::boolean) c`);
    return row ?? { claims: [], more: false };
}
/**
 * Stores outcomes of attempts, with no effect the second time. `taken`: how many were stored. `later`: ids of
 * deliveries whose endpoint was locked, so that their outcome was not stored.
 */
export async function settleDeliveries(db, results) {
    const [row] = await db.query(sql `
    SELECT s.taken, s.later FROM gateway.settle_webhooks(
      ${JSON.stringify(results)}::text::jsonb, make_interval(secs => ${PATIENCE}::integer)) s`);
    return row ?? { taken: 0, later: [] };
}
/** Deletes secrets that no longer sign, and at most `n` deliveries that ended seven days ago. Returns their number. */
export async function purgeDeliveries(db, n) {
    const [row] = await db.query(sql `
    WITH old AS (
      SELECT id FROM gateway.webhook_delivery
       WHERE ended_at < now() - make_interval(secs => ${KEPT}::integer) LIMIT ${n}::integer FOR UPDATE SKIP LOCKED
    ), purged AS (
      DELETE FROM gateway.webhook_delivery d USING old WHERE d.id = old.id RETURNING 1
    ), ended AS (
      UPDATE gateway.webhook_endpoint SET old_secret = NULL, old_secret_until = NULL
       WHERE id IN (SELECT id FROM gateway.webhook_endpoint WHERE old_secret_until <= now() FOR NO KEY UPDATE SKIP LOCKED)
    ) SELECT count(*)::integer AS purged FROM purged`);
    return row?.purged ?? 0;
}
//# sourceMappingURL=deliveries.js.map