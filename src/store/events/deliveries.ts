import type { EventReceipt } from '../../core/events.ts';
import { type Fragment, sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';

/** Webhook deliveries, from the journal to their outcome (0012_webhooks.sql). */

/** An attempt that this process has leased and must make now. */
export interface Claim {
  readonly id: string;
  /** Attempts ever started. It fences the outcome. */
  readonly attempt: number;
  /** From 1 to the length of the schedule. A replay starts again at 1. */
  readonly number: number;
  readonly endpoint: string;
  /** When it was leased, on PostgreSQL's clock, in Unix milliseconds. */
  readonly at: number;
  readonly url: string;
  /** Sealed, like `oldSecret`: the secret before the last rotation, while it still signs. */
  readonly secret: string;
  readonly oldSecret: string | null;
  /**
   * Unix milliseconds since when the receiver has lost receipts and does not know it yet; null when it has lost none.
   */
  readonly gapSince: number | null;
  /** Number of such losses. A receiver that accepts the claim knows about these. */
  readonly losses: number;
  readonly test: boolean;
  readonly receipt: EventReceipt;
}

/** The outcome of an attempt. */
export interface Settlement {
  /** These five come from the claim. */
  readonly id: string;
  readonly endpoint: string;
  readonly url: string;
  readonly attempt: number;
  readonly losses: number;
  readonly delivered: boolean;
  /** Nothing was attempted: the claim is returned and does not count. */
  readonly unused: boolean;
  /** Seconds until the next attempt; null when there is none. */
  readonly wait: number | null;
  /** The receiver wants no more deliveries (410). */
  readonly gone: boolean;
  /** HTTP status of the response; null without a response. */
  readonly status: number | null;
  readonly error: string | null;
}

/** Milliseconds that an attempt is leased: its own ten seconds, and the time that may pass before it starts. */
export const LEASE = 15_000;
/** Running attempts at one endpoint, over all replicas. */
const AT_ONE_ENDPOINT = 16;
/** Running attempts in this process. */
export const SEATS = 512;
/** The part of SEATS kept for endpoints without a running attempt. */
const RESERVED = 128;
/** Seconds of failures alone after which an endpoint is disabled: three days. */
const PATIENCE = 3 * 86_400;
/** Seconds that the log of a delivery is kept; the journal keeps its receipt as long. */
const KEPT = 7 * 86_400;

const BLOCK = 64;

/** The two padded keys of HMAC-SHA256 (RFC 2104), from which the store makes event ids. */
export const padded = (key: Uint8Array): Fragment => {
  const block = new Uint8Array(BLOCK);
  block.set(key);
  return sql`${block.map((byte) => byte ^ 0x36)}::bytea, ${block.map((byte) => byte ^ 0x5c)}::bytea`;
};

export interface Claiming {
  /** The store's own key (ledgerKey in store/calls/ledger.ts). */
  readonly eventKey: Uint8Array;
  readonly seats: number;
  /** Seconds before each attempt. */
  readonly schedule: readonly number[];
}

/**
 * Drops deliveries that are no longer permitted, queues new receipts, and leases at most `seats` due deliveries.
 * `more`: receipts are left to queue.
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
 * Stores outcomes. Returns how many were still wanted. Sent twice, the second time changes nothing. `later`: deliveries
 * that remain, because another statement holds their endpoint.
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
 * Deletes at most `n` deliveries that ended seven days ago, and secrets that no longer sign. Returns how many
 * deliveries.
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
