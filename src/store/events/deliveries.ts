import type { EventReceipt } from '../../core/events.ts';
import { type Fragment, sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';

/** Webhook deliveries, from the journal to their outcome (0012_webhooks.sql). */

/** An attempt at a delivery. This process has leased the attempt and must make it now. */
export interface Claim {
  readonly id: string;
  /** Number of attempts ever started for the delivery. The store ignores the outcome of an older attempt. */
  readonly attempt: number;
  /** Number of the attempt in the schedule, from 1 to the length of the schedule. A replay starts again at 1. */
  readonly number: number;
  readonly endpoint: string;
  /** The time when the process leased the attempt, on the clock of PostgreSQL, in Unix milliseconds. */
  readonly at: number;
  readonly url: string;
  /** The sealed secret that signs the delivery. `oldSecret` is the previous sealed secret, while it still signs. */
  readonly secret: string;
  readonly oldSecret: string | null;
  /**
   * The time since which the receiver has missed receipts without knowing it, in Unix milliseconds. null means that no
   * receipt was missed.
   */
  readonly gapSince: number | null;
  /** Number of losses of receipts at the endpoint. A receiver that accepts this attempt knows about these losses. */
  readonly losses: number;
  readonly test: boolean;
  readonly receipt: EventReceipt;
}

/** The outcome of an attempt at a delivery. */
export interface Settlement {
  /** The members `id`, `endpoint`, `url`, `attempt` and `losses` come from the claim. */
  readonly id: string;
  readonly endpoint: string;
  readonly url: string;
  readonly attempt: number;
  readonly losses: number;
  readonly delivered: boolean;
  /** True when the process made no attempt. The store takes the claim back and does not count an attempt. */
  readonly unused: boolean;
  /** Seconds until the next attempt. null means that there is no next attempt. */
  readonly wait: number | null;
  /** True when the receiver wants no more deliveries (410). */
  readonly gone: boolean;
  /** HTTP status of the receiver's response. null means that there was no response. */
  readonly status: number | null;
  readonly error: string | null;
}

/** Milliseconds of the lease of an attempt: ten seconds for the attempt, and the time before the attempt starts. */
export const LEASE = 15_000;
/** Largest number of running attempts at one endpoint, over all replicas. */
const AT_ONE_ENDPOINT = 16;
/** Largest number of running attempts in this process. */
export const SEATS = 512;
/** This part of SEATS is only for endpoints without a running attempt. */
const RESERVED = 128;
/** Seconds of uninterrupted failures after which an endpoint is disabled: three days. */
const PATIENCE = 3 * 86_400;
/** Seconds that the store keeps the log of a delivery. The journal keeps the receipt for the same time. */
const KEPT = 7 * 86_400;

const BLOCK = 64;

/** SQL for the two padded keys of HMAC-SHA256 (RFC 2104). The store makes event ids with these keys. */
export const padded = (key: Uint8Array): Fragment => {
  const block = new Uint8Array(BLOCK);
  block.set(key);
  return sql`${block.map((byte) => byte ^ 0x36)}::bytea, ${block.map((byte) => byte ^ 0x5c)}::bytea`;
};

export interface Claiming {
  /** The store's own key for event ids (ledgerKey in store/calls/ledger.ts). */
  readonly eventKey: Uint8Array;
  readonly seats: number;
  /** Seconds to wait before each attempt at a delivery. */
  readonly schedule: readonly number[];
}

/**
 * Drops deliveries that are no longer permitted, queues new receipts, and leases at most `seats` due deliveries. `more`
 * is true when there are receipts that are not queued yet.
 */
export async function claimDeliveries(
  db: Database,
  { eventKey, seats, schedule }: Claiming,
): Promise<{ claims: readonly Claim[]; more: boolean }> {
  const [row] = await db.query<{ claims: Claim[]; more: boolean }>(sql`
    SELECT c.claims, c.more FROM gateway.claim_webhooks(
      ${padded(eventKey)}, ${seats}::integer, ${RESERVED}::integer, ${AT_ONE_ENDPOINT}::integer, ${schedule.length}::integer,
      make_interval(secs => ${schedule[0] ?? 0}::double precision), ${LEASE}::integer * interval '1 millisecond') c`);
  return row ?? { claims: [], more: false };
}

/**
 * Stores the outcomes of attempts. Storing the same outcomes again changes nothing. `taken` is the number of outcomes
 * that the store still wanted. `later` has the ids of deliveries whose endpoint another statement holds. The store has
 * not stored the outcomes of these deliveries.
 */
export async function settleDeliveries(
  db: Database,
  results: readonly Settlement[],
): Promise<{ taken: number; later: readonly string[] }> {
  const [row] = await db.query<{ taken: number; later: string[] }>(sql`
    SELECT s.taken, s.later FROM gateway.settle_webhooks(
      ${JSON.stringify(results)}::text::jsonb, make_interval(secs => ${PATIENCE}::integer)) s`);
  return row ?? { taken: 0, later: [] };
}

/**
 * Deletes secrets that no longer sign, and at most `n` deliveries that ended seven days ago. Returns the number of
 * deleted deliveries.
 */
export async function purgeDeliveries(db: Database, n: number): Promise<number> {
  const [row] = await db.query<{ purged: number }>(sql`
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
