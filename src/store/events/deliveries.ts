import type { EventReceipt } from '../../core/events.ts';
import { type Fragment, sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';

/** Deliveries of webhooks, from the journal to their outcome (0014_webhooks.sql; decisions, section 15). */

/** An attempt that this process has leased and has to make now. */
export interface Claim {
  readonly id: string;
  /** What fences its outcome: attempts ever begun. */
  readonly attempt: number;
  /** 1 to the length of the schedule; it begins anew with a replay. */
  readonly number: number;
  readonly endpoint: string;
  /** PostgreSQL's clock when it was leased, in Unix milliseconds. */
  readonly at: number;
  readonly url: string;
  /** Sealed, as is the one before the last rotation, while that still signs. */
  readonly secret: string;
  readonly oldSecret: string | null;
  /** Unix milliseconds since when receipts were lost to the receiver, and it has not been told yet. */
  readonly gapSince: number | null;
  /** How often that was; who accepts the claim has been told of these. */
  readonly losses: number;
  readonly test: boolean;
  readonly receipt: EventReceipt;
}

/** How an attempt has ended. */
export interface Settlement {
  /** These five as the claim had them. */
  readonly id: string;
  readonly endpoint: string;
  readonly url: string;
  readonly attempt: number;
  readonly losses: number;
  readonly delivered: boolean;
  /** Nothing was attempted: it is given back, and does not count. */
  readonly unused: boolean;
  /** Seconds until the next attempt; null: there is none. */
  readonly wait: number | null;
  /** The receiver wants no more of anything. */
  readonly gone: boolean;
  /** Of the response. */
  readonly status: number | null;
  readonly error: string | null;
}

/** Milliseconds for which an attempt is leased: its own ten seconds, and what may pass before it begins. */
export const LEASE = 15_000;
/** Attempts under way at an endpoint, over all replicas. */
const AT_ONE_ENDPOINT = 16;
/** Attempts under way in this process. */
export const SEATS = 512;
/** Of them, those for endpoints that have nothing under way. */
const RESERVED = 128;
/** Seconds of nothing but failure after which an endpoint is disabled: three days. */
const PATIENCE = 3 * 86_400;
/** Seconds that the log of a delivery is kept, as the journal keeps its receipt. */
const KEPT = 7 * 86_400;

const BLOCK = 64;

/** The two padded keys of HMAC-SHA256 (RFC 2104), of which the store makes event ids. */
export const padded = (key: Uint8Array): Fragment => {
  const block = new Uint8Array(BLOCK);
  block.set(key);
  return sql`${block.map((byte) => byte ^ 0x36)}::bytea, ${block.map((byte) => byte ^ 0x5c)}::bytea`;
};

export interface Claiming {
  /** The store's own key (store/calls/ledger.ts, ledgerKey). */
  readonly eventKey: Uint8Array;
  readonly seats: number;
  /** Seconds before each attempt. */
  readonly schedule: readonly number[];
}

/**
 * Drops what may not be told any more, queues new receipts, and leases at most `seats` due deliveries. `more`: receipts are
 * left to queue.
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
 * Writes outcomes down; returns how many were still wanted. Sent twice, the second changes nothing. `later`: deliveries that
 * are left, because somebody holds their endpoint.
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

/** Forgets at most `n` deliveries that ended seven days ago, and old secrets that sign no more; returns how many. */
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
