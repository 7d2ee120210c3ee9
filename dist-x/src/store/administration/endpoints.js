import { sql } from '../../core/sql.js';
import { LEASE, padded } from '../events/deliveries.js';
import { door, doorAlone, mentions, readPage, within, } from './administrator.js';
const view = (rows) => sql `
  SELECT e.id, e.credential_id, e.tenant, 'web_' || e.tenant || '_' || e.site AS website_id, e.url, e.event_types, e.description,
         e.subscription_id, e.enabled, e.disabled_because, gateway.may_deliver(e::gateway.webhook_endpoint) AS permitted,
         e.failing_since, e.gap_since, CASE WHEN e.old_secret_until > now() THEN e.old_secret_until END AS old_secret_until,
         (SELECT count(*)::integer FROM gateway.webhook_delivery d WHERE d.endpoint_id = e.id AND d.status = 'pending') AS pending,
         e.created_at, e.updated_at
    FROM ${rows} e ORDER BY e.created_at, e.id`;
/**
 * Inserts an endpoint, which gets receipts from now on. Undefined if the credential may not get the website's events, or
 * if the endpoint exists.
 */
export async function insertEndpoint(db, made, by) {
    const [row] = await db.query(sql `
    WITH ${door(by)}e AS (
      INSERT INTO gateway.webhook_endpoint (id, credential_id, tenant, site, url, event_types, description, secret, position)
      SELECT ${made.id}, ${made.credential}, ${made.tenant}, ${made.site}, ${made.url}, ${made.eventTypes}::text[],
             ${made.description}, ${made.secret},
             coalesce((SELECT h.position FROM gateway.journal_head h WHERE h.tenant = ${made.tenant} AND h.site = ${made.site}), 0)
       WHERE gateway.may_be_told(${made.credential}, ${made.tenant}, ${made.site}) AND ${within(by, sql `${made.tenant}::bigint`)}
      ON CONFLICT (id) DO NOTHING RETURNING *
    ) ${view(sql `e`)}`);
    return row;
}
export async function readEndpoints(db, { id = null, credential = null }) {
    return db.read(sql `${view(sql `(
    SELECT * FROM gateway.webhook_endpoint x
     WHERE (${id}::text IS NULL OR x.id = ${id}) AND (${credential}::text IS NULL OR x.credential_id = ${credential}))`)}`);
}
/** One page of the endpoints in the administrator's organization. */
export const pageOfEndpoints = (db, by, { id = null, website = null, state = null, text = null }, slice) => readPage(db, by, sql `SELECT v.* FROM (${view(sql `(
      SELECT * FROM gateway.webhook_endpoint x WHERE ${within(by, sql `x.tenant`)} AND (${id}::text IS NULL OR x.id = ${id}))`)}) v
     WHERE (${website}::text IS NULL OR v.website_id = ${website}) AND ${mentions(text, [sql `split_part(v.url, '?', 1)`, sql `v.description`])}
       AND CASE ${state}::text WHEN 'enabled' THEN v.enabled WHEN 'disabled' THEN NOT v.enabled
                               WHEN 'failing' THEN v.enabled AND v.failing_since IS NOT NULL ELSE true END`, slice);
/**
 * Changes an endpoint at once. A change of website, or disabling, drops the waiting deliveries. An endpoint that is
 * enabled again gets only later receipts. Undefined if it does not exist, or if it was changed since `was`.
 */
export async function updateEndpoint(db, id, { credential, site, url, eventTypes, description, enabled, was }, by) {
    const changed = await db.query(sql `
    WITH ${door(by)}e AS MATERIALIZED (SELECT e.id FROM gateway.webhook_endpoint e WHERE e.id = ${id} AND ${within(by, sql `e.tenant`)}
       AND (${was ?? null}::timestamptz IS NULL OR date_trunc('milliseconds', e.updated_at) = ${was ?? null}) FOR NO KEY UPDATE)
    SELECT gateway.update_webhook(e.id, ${credential ?? null}::text, ${site?.tenant ?? null}::bigint, ${site?.site ?? null}::bigint,
      ${url ?? null}::text, ${eventTypes ?? null}::text[], ${description ?? null}::text, ${enabled ?? null}::boolean) FROM e`);
    return changed.length === 0 ? undefined : (await readEndpoints(db, { id }))[0];
}
/**
 * Replaces the signing secret of an endpoint. The old secret also signs for `overlap` more seconds. With 0 the old
 * secret stops at once. Returns `undefined` when the endpoint does not exist. Also returns `undefined` while an earlier
 * overlap runs, because a new rotation would end the earlier overlap too soon.
 */
export async function rotateEndpoint(db, id, secret, overlap, by) {
    const [row] = await db.query(sql `
    WITH ${door(by)}e AS (
      UPDATE gateway.webhook_endpoint
         SET secret = ${secret}, updated_at = now(),
             old_secret = CASE WHEN ${overlap}::integer > 0 THEN secret END,
             old_secret_until = CASE WHEN ${overlap}::integer > 0
                                THEN date_trunc('milliseconds', now() + make_interval(secs => ${overlap}::integer)) END
       WHERE id = ${id} AND (${overlap}::integer = 0 OR coalesce(old_secret_until <= now(), true)) AND ${within(by, sql `tenant`)} RETURNING *
    ) ${view(sql `e`)}`);
    return row;
}
/** Deletes an endpoint, and the subscription of an MCP client that it belongs to. False if there is none. */
export async function deleteEndpoint(db, id, by) {
    // Everything locks a subscription before its endpoints. One statement for both would lock the endpoint first.
    const ended = await db.query(sql `
    ${doorAlone(by)} DELETE FROM gateway.subscription s USING gateway.webhook_endpoint e
     WHERE e.id = ${id} AND s.id = e.subscription_id AND ${within(by, sql `e.tenant`)} RETURNING s.id`);
    if (ended.length > 0)
        return true;
    const rows = await db.query(sql `
    ${doorAlone(by)} DELETE FROM gateway.webhook_endpoint e WHERE e.id = ${id} AND ${within(by, sql `e.tenant`)} RETURNING e.id`);
    return rows.length > 0;
}
/**
 * Makes a test delivery for this process to send now: a website.heartbeat at the end of the journal, even if the
 * endpoint did not ask for it. Undefined if the endpoint is disabled, or its credential may not get the events.
 */
export async function claimTest(db, id, eventId, by) {
    const [row] = await db.query(sql `
    WITH ${door(by)}e AS (
      SELECT x.* FROM gateway.webhook_endpoint x
       WHERE x.id = ${id} AND x.enabled AND gateway.may_be_told(x.credential_id, x.tenant, x.site) AND ${within(by, sql `x.tenant`)}
         FOR NO KEY UPDATE
    ), d AS (
      INSERT INTO gateway.webhook_delivery
        (endpoint_id, event_id, tenant, site, position, event_type, occurred_at, recorded_at, test, attempts, attempted_at, due_at, lease_until)
      SELECT e.id, ${eventId}, e.tenant, e.site,
             coalesce((SELECT h.position FROM gateway.journal_head h WHERE h.tenant = e.tenant AND h.site = e.site), 0),
             'website.heartbeat', now(), now(), true, 1, now(), l.until, l.until
        FROM e CROSS JOIN (SELECT clock_timestamp() + ${LEASE}::integer * interval '1 millisecond') AS l (until)
      RETURNING *
    ) SELECT gateway.webhook_claim(d::gateway.webhook_delivery, e::gateway.webhook_endpoint) AS claim FROM d CROSS JOIN e`);
    return row?.claim;
}
export const REPLAYED_MAX = 10_000;
export async function replayDeliveries(db, id, eventKey, which, by) {
    const [event, since, until] = 'event' in which ? [which.event, null, null] : [null, which.since, which.until];
    const [row] = await db.query(sql `
    ${doorAlone(by)} SELECT r.refused, coalesce(r.receipts, 0) AS found, coalesce(r.queued, 0) AS queued FROM gateway.webhook_endpoint e CROSS JOIN LATERAL gateway.replay_webhooks(
      e.id, ${padded(eventKey)}, ${event}::text, ${since}::timestamptz, ${until}::timestamptz, ${REPLAYED_MAX}::integer) r
     WHERE e.id = ${id} AND ${within(by, sql `e.tenant`)}`);
    return row ?? { refused: 'unknown', found: 0, queued: 0 };
}
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'dropped'];
const deliveries = sql `
    SELECT d.id, d.event_id, d.event_type, d.test, d.status, d.attempts - d.attempts_before AS attempts, d.attempted_at,
           CASE WHEN d.status = 'pending' AND coalesce(d.lease_until < now(), true) THEN d.due_at END AS next_attempt_at,
           d.response_status, d.error, d.created_at, d.ended_at
      FROM gateway.webhook_delivery d`;
export const readDeliveries = (db, endpoint, status, n) => db.read(sql `
    ${deliveries}
     WHERE d.endpoint_id = ${endpoint} AND (${status ?? null}::text IS NULL OR d.status = ${status ?? null})
     ORDER BY d.created_at DESC, d.position DESC LIMIT ${n}::integer`);
/** One page of the deliveries of an endpoint in the administrator's organization. */
export const pageOfDeliveries = (db, by, endpoint, { status = null, event = null }, slice) => readPage(db, by, sql `${deliveries}
     WHERE d.endpoint_id = ${endpoint} AND ${within(by, sql `d.tenant`)}
       AND (${status}::text IS NULL OR d.status = ${status}) AND (${event}::text IS NULL OR d.event_id = ${event})`, slice, { long: true });
//# sourceMappingURL=endpoints.js.map