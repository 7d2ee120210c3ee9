import { type Fragment, sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';
import { type Claim, LEASE, padded } from '../events/deliveries.ts';
import {
  type Administrator,
  door,
  doorAlone,
  type ListPage,
  mentions,
  type Nullable,
  readPage,
  type Slice,
  within,
} from './administrator.ts';

/** A webhook endpoint without its secrets. Each write in this file is one statement. */
export interface EndpointRecord {
  readonly id: string;
  readonly credential_id: string;
  readonly tenant: string;
  readonly website_id: string;
  readonly url: string;
  readonly event_types: string[];
  readonly description: string;
  /** The subscription of an MCP client that the endpoint belongs to. Null for a webhook of the command line. */
  readonly subscription_id: string | null;
  readonly enabled: boolean;
  /**
   * Why the endpoint is disabled. `owner`: the command line disabled it. `gone`: the receiver answered 410. `failing`:
   * every attempt failed for three days. `ended`: the rights of its MCP client ended. Null for an enabled endpoint.
   */
  readonly disabled_because: 'owner' | 'gone' | 'failing' | 'ended' | null;
  /** True when the endpoint's credential may currently get the events of the website. */
  readonly permitted: boolean;
  readonly failing_since: Date | null;
  readonly gap_since: Date | null;
  /** After a rotation, both secrets sign deliveries until this time. Null: only the new secret signs. */
  readonly old_secret_until: Date | null;
  readonly pending: number;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const view = (rows: Fragment): Fragment => sql`
  SELECT e.id, e.credential_id, e.tenant, 'web_' || e.tenant || '_' || e.site AS website_id, e.url, e.event_types, e.description,
         e.subscription_id, e.enabled, e.disabled_because, gateway.may_deliver(e::gateway.webhook_endpoint) AS permitted,
         e.failing_since, e.gap_since, CASE WHEN e.old_secret_until > now() THEN e.old_secret_until END AS old_secret_until,
         (SELECT count(*)::integer FROM gateway.webhook_delivery d WHERE d.endpoint_id = e.id AND d.status = 'pending') AS pending,
         e.created_at, e.updated_at
    FROM ${rows} e ORDER BY e.created_at, e.id`;

export interface NewEndpoint extends Pick<EndpointRecord, 'id' | 'tenant' | 'url' | 'description'> {
  readonly credential: string;
  readonly site: string;
  readonly eventTypes: readonly string[];
  /** The encrypted signing secret. */
  readonly secret: string;
}

/**
 * Inserts an endpoint, which gets receipts from now on. Undefined if the credential may not get the website's events, or
 * if the endpoint exists.
 */
export async function insertEndpoint(
  db: Database,
  made: NewEndpoint,
  by?: Administrator,
): Promise<EndpointRecord | undefined> {
  const [row] = await db.query<EndpointRecord>(sql`
    WITH ${door(by)}e AS (
      INSERT INTO gateway.webhook_endpoint (id, credential_id, tenant, site, url, event_types, description, secret, position)
      SELECT ${made.id}, ${made.credential}, ${made.tenant}, ${made.site}, ${made.url}, ${made.eventTypes}::text[],
             ${made.description}, ${made.secret},
             coalesce((SELECT h.position FROM gateway.journal_head h WHERE h.tenant = ${made.tenant} AND h.site = ${made.site}), 0)
       WHERE gateway.may_be_told(${made.credential}, ${made.tenant}, ${made.site}) AND ${within(by, sql`${made.tenant}::bigint`)}
      ON CONFLICT (id) DO NOTHING RETURNING *
    ) ${view(sql`e`)}`);
  return row;
}

export async function readEndpoints(
  db: Database,
  { id = null, credential = null }: { readonly id?: string | null; readonly credential?: string | null },
): Promise<EndpointRecord[]> {
  return db.read<EndpointRecord>(
    sql`${view(sql`(
    SELECT * FROM gateway.webhook_endpoint x
     WHERE (${id}::text IS NULL OR x.id = ${id}) AND (${credential}::text IS NULL OR x.credential_id = ${credential}))`)}`,
  );
}

export interface EndpointSearch {
  readonly id?: string | undefined;
  readonly website?: string | undefined;
  readonly state?: 'enabled' | 'disabled' | 'failing' | undefined;
  /** Part of the URL without its query, which often contains a secret, or of the description. */
  readonly text?: string | undefined;
}

/** One page of the endpoints in the administrator's organization. */
export const pageOfEndpoints = (
  db: Database,
  by: Administrator,
  { id = null, website = null, state = null, text = null }: Nullable<EndpointSearch>,
  slice: Slice,
): Promise<ListPage<EndpointRecord>> =>
  readPage(
    db,
    by,
    sql`SELECT v.* FROM (${view(sql`(
      SELECT * FROM gateway.webhook_endpoint x WHERE ${within(by, sql`x.tenant`)} AND (${id}::text IS NULL OR x.id = ${id}))`)}) v
     WHERE (${website}::text IS NULL OR v.website_id = ${website}) AND ${mentions(text, [sql`split_part(v.url, '?', 1)`, sql`v.description`])}
       AND CASE ${state}::text WHEN 'enabled' THEN v.enabled WHEN 'disabled' THEN NOT v.enabled
                               WHEN 'failing' THEN v.enabled AND v.failing_since IS NOT NULL ELSE true END`,
    slice,
  );

export interface EndpointChanges {
  readonly credential?: string | undefined;
  readonly site?: { readonly tenant: string; readonly site: string } | undefined;
  readonly url?: string | undefined;
  readonly eventTypes?: readonly string[] | undefined;
  readonly description?: string | undefined;
  readonly enabled?: boolean | undefined;
  /** The `updated_at` that the administrator has seen. What was changed since is not replaced. */
  readonly was?: Date | undefined;
}

/**
 * Changes an endpoint at once. A change of website, or disabling, drops the waiting deliveries. An endpoint that is
 * enabled again gets only later receipts. Undefined if it does not exist, or if it was changed since `was`.
 */
export async function updateEndpoint(
  db: Database,
  id: string,
  { credential, site, url, eventTypes, description, enabled, was }: EndpointChanges,
  by?: Administrator,
): Promise<EndpointRecord | undefined> {
  const changed = await db.query(sql`
    WITH ${door(by)}e AS MATERIALIZED (SELECT e.id FROM gateway.webhook_endpoint e WHERE e.id = ${id} AND ${within(by, sql`e.tenant`)}
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
export async function rotateEndpoint(
  db: Database,
  id: string,
  secret: string,
  overlap: number,
  by?: Administrator,
): Promise<EndpointRecord | undefined> {
  const [row] = await db.query<EndpointRecord>(sql`
    WITH ${door(by)}e AS (
      UPDATE gateway.webhook_endpoint
         SET secret = ${secret}, updated_at = now(),
             old_secret = CASE WHEN ${overlap}::integer > 0 THEN secret END,
             old_secret_until = CASE WHEN ${overlap}::integer > 0
                                THEN date_trunc('milliseconds', now() + make_interval(secs => ${overlap}::integer)) END
       WHERE id = ${id} AND (${overlap}::integer = 0 OR coalesce(old_secret_until <= now(), true)) AND ${within(by, sql`tenant`)} RETURNING *
    ) ${view(sql`e`)}`);
  return row;
}

/** Deletes an endpoint, and the subscription of an MCP client that it belongs to. False if there is none. */
export async function deleteEndpoint(db: Database, id: string, by?: Administrator): Promise<boolean> {
  // Everything locks a subscription before its endpoints. One statement for both would lock the endpoint first.
  const ended = await db.query(sql`
    ${doorAlone(by)} DELETE FROM gateway.subscription s USING gateway.webhook_endpoint e
     WHERE e.id = ${id} AND s.id = e.subscription_id AND ${within(by, sql`e.tenant`)} RETURNING s.id`);
  if (ended.length > 0) return true;
  const rows = await db.query(sql`
    ${doorAlone(by)} DELETE FROM gateway.webhook_endpoint e WHERE e.id = ${id} AND ${within(by, sql`e.tenant`)} RETURNING e.id`);
  return rows.length > 0;
}

/**
 * Makes a test delivery for this process to send now: a website.heartbeat at the end of the journal, even if the
 * endpoint did not ask for it. Undefined if the endpoint is disabled, or its credential may not get the events.
 */
export async function claimTest(
  db: Database,
  id: string,
  eventId: string,
  by?: Administrator,
): Promise<Claim | undefined> {
  const [row] = await db.query<{ claim: Claim }>(sql`
    WITH ${door(by)}e AS (
      SELECT x.* FROM gateway.webhook_endpoint x
       WHERE x.id = ${id} AND x.enabled AND gateway.may_be_told(x.credential_id, x.tenant, x.site) AND ${within(by, sql`x.tenant`)}
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

/** One receipt by its event id, or those of a span of time, oldest first. A number in `since` is seconds before now. */
export type Replay = { readonly event: string } | { readonly since: Date | number; readonly until: Date | null };

export interface Replayed {
  readonly refused: 'unknown' | 'disabled' | 'not_permitted' | null;
  readonly found: number;
  /** The receipts that were queued. The others of `found` already wait or are being sent. */
  readonly queued: number;
}

export const REPLAYED_MAX = 10_000;
export async function replayDeliveries(
  db: Database,
  id: string,
  key: Uint8Array,
  which: Replay,
  by?: Administrator,
): Promise<Replayed> {
  const { event, since, until } = { event: null, since: null, until: null, ...which };
  const start = typeof since === 'number' ? sql`now() - make_interval(secs => ${since})` : sql`${since}::timestamptz`;
  const [row] = await db.query<Replayed>(sql`
    ${doorAlone(by)} SELECT r.refused, coalesce(r.receipts, 0) AS found, coalesce(r.queued, 0) AS queued FROM gateway.webhook_endpoint e CROSS JOIN LATERAL gateway.replay_webhooks(
      e.id, ${padded(key)}, ${event}::text, ${start}, ${until}::timestamptz, ${REPLAYED_MAX}::integer) r
     WHERE e.id = ${id} AND ${within(by, sql`e.tenant`)}`);
  return row ?? { refused: 'unknown', found: 0, queued: 0 };
}

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'dropped'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export interface DeliveryRecord {
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly test: boolean;
  readonly status: DeliveryStatus;
  /** The number of attempts since the delivery was made, or since its last replay. */
  readonly attempts: number;
  readonly attempted_at: Date | null;
  /** The time of the next attempt. Null when no attempt will follow, or while an attempt runs. */
  readonly next_attempt_at: Date | null;
  readonly response_status: number | null;
  readonly error: string | null;
  readonly created_at: Date;
  readonly ended_at: Date | null;
}

const deliveries = sql`
    SELECT d.id, d.event_id, d.event_type, d.test, d.status, d.attempts - d.attempts_before AS attempts, d.attempted_at,
           CASE WHEN d.status = 'pending' AND coalesce(d.lease_until < now(), true) THEN d.due_at END AS next_attempt_at,
           d.response_status, d.error, d.created_at, d.ended_at
      FROM gateway.webhook_delivery d`;

export const readDeliveries = (
  db: Database,
  endpoint: string,
  status: DeliveryStatus | undefined,
  n: number,
): Promise<DeliveryRecord[]> =>
  db.read<DeliveryRecord>(sql`
    ${deliveries}
     WHERE d.endpoint_id = ${endpoint} AND (${status ?? null}::text IS NULL OR d.status = ${status ?? null})
     ORDER BY d.created_at DESC, d.position DESC LIMIT ${n}::integer`);

export interface DeliverySearch {
  readonly status?: DeliveryStatus | undefined;
  readonly event?: string | undefined;
}

/** One page of the deliveries of an endpoint in the administrator's organization. */
export const pageOfDeliveries = (
  db: Database,
  by: Administrator,
  endpoint: string,
  { status = null, event = null }: Nullable<DeliverySearch>,
  slice: Slice,
): Promise<ListPage<DeliveryRecord>> =>
  readPage(
    db,
    by,
    sql`${deliveries}
     WHERE d.endpoint_id = ${endpoint} AND ${within(by, sql`d.tenant`)}
       AND (${status}::text IS NULL OR d.status = ${status}) AND (${event}::text IS NULL OR d.event_id = ${event})`,
    slice,
    { long: true },
  );
