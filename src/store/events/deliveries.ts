import type { EventArguments, EventFamily } from '../../core/event-arguments.ts';
import type { EventReceipt } from '../../core/events.ts';
import { type Fragment, sql } from '../../core/sql.ts';
import { asMachine, MOVED } from '../calls/moved.ts';
import type { Database } from '../driver/postgres.ts';

/** Webhook deliveries, from the journal to their outcome (14_webhooks.sql). */

/** An attempt at a delivery that this process has leased and must make now. */
export interface Claim {
  readonly id: string;
  /** How many attempts were ever started for the delivery. The store ignores outcomes of older ones. */
  readonly attempt: number;
  /** The number of the attempt in the schedule, from 1. A replay starts again at 1. */
  readonly number: number;
  readonly endpoint: string;
  /** The time when the process leased the attempt, in Unix milliseconds of PostgreSQL's clock. */
  readonly at: number;
  readonly url: string;
  /** The encrypted secret that signs the delivery. `oldSecret` is the previous secret, while it still signs. */
  readonly secret: string;
  readonly oldSecret: string | null;
  /** Since when (Unix ms) the receiver has missed receipts without knowing it. null if it missed none. */
  readonly gapSince: number | null;
  /** How often the endpoint has lost receipts. A receiver that accepts this attempt knows about these losses. */
  readonly losses: number;
  readonly test: boolean;
  readonly receipt: EventReceipt;
  /** Present for a subscription of an MCP client. */
  readonly mcp?: McpTarget;
}

/** The subscription of an MCP client that a delivery belongs to (24_mcp_subscriptions.sql). */
export interface McpTarget {
  readonly subscription: string;
  readonly name: EventFamily;
  readonly arguments: EventArguments;
  readonly credential: string;
  readonly environment: 'live' | 'test';
  /** By website id: the position up to which every receipt was accepted or given up, with this delivery. */
  readonly positions: Readonly<Record<string, number>>;
}

/** The outcome of a claim (the leased attempt), which it names by five of its members. */
export interface Settlement extends Pick<Claim, 'id' | 'endpoint' | 'url' | 'attempt' | 'losses'> {
  readonly delivered: boolean;
  /** True if the process made no attempt. The store then takes back the leased attempt without counting it. */
  readonly unused: boolean;
  /** Seconds until the next attempt. null means that no attempt will follow. */
  readonly wait: number | null;
  /** True when the receiver has answered 410, which means that the receiver wants no more deliveries. */
  readonly gone: boolean;
  /** The HTTP status of the response. null means that there was no response. */
  readonly status: number | null;
  readonly error: string | null;
}

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
export const padded = (key: Uint8Array): Fragment => {
  const block = new Uint8Array(BLOCK);
  block.set(key);
  return sql`${block.map((byte) => byte ^ 0x36)}::bytea, ${block.map((byte) => byte ^ 0x5c)}::bytea`;
};

export interface Claiming {
  readonly eventKey: Uint8Array;
  readonly seats: number;
  readonly schedule: readonly number[];
  /** False: this process does not serve events over MCP, so it leaves the deliveries of such subscriptions alone. */
  readonly mcp: boolean;
}

interface Claimed {
  readonly claims: readonly Claim[];
  /** Receipts are left to queue. */
  readonly more: boolean;
  /** When PostgreSQL got the statement, and when it had ended it: Unix milliseconds of PostgreSQL's clock. */
  readonly began: number;
  readonly answered: number;
}

/** Drops deliveries that are no longer permitted, queues new receipts, and leases at most `seats` due deliveries. */
export async function claimDeliveries(db: Database, { eventKey, seats, schedule, mcp }: Claiming): Promise<Claimed> {
  const [row] = await db.query<Claimed>(sql`
    SELECT c.claims, c.more, (extract(epoch FROM statement_timestamp()) * 1000)::float8 AS began,
           (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS answered FROM gateway.claim_deliveries(
      ${padded(eventKey)}, ${seats}::integer, ${RESERVED}::integer, ${AT_ONE_ENDPOINT}::integer, ${schedule.length}::integer,
      make_interval(secs => ${schedule[0] ?? 0}::double precision), ${LEASE}::integer * interval '1 millisecond', ${mcp}::boolean) c`);
  if (!row) throw new Error('a round of deliveries has no answer');
  return row;
}

/**
 * Stores outcomes of attempts, with no effect the second time. `taken`: how many were stored. `later`: ids of
 * deliveries whose endpoint was locked, so that their outcome was not stored.
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

/** Deletes secrets that no longer sign, and at most `n` deliveries that ended seven days ago. Returns their number. */
export async function purgeDeliveries(db: Database, n: number): Promise<number> {
  const [row] = await db.query<{ purged: number }>(sql`
    WITH old AS (
      SELECT id FROM gateway.webhook_delivery
       WHERE ended_at < now() - make_interval(secs => ${KEPT}::integer) AND ${asMachine} AND tenant NOT IN (${MOVED})
       LIMIT ${n}::integer FOR UPDATE SKIP LOCKED
    ), purged AS (
      DELETE FROM gateway.webhook_delivery d USING old WHERE d.id = old.id RETURNING 1
    ), ended AS (
      UPDATE gateway.webhook_endpoint SET old_secret = NULL, old_secret_until = NULL
       WHERE id IN (SELECT id FROM gateway.webhook_endpoint WHERE old_secret_until <= now() AND ${asMachine} FOR NO KEY UPDATE SKIP LOCKED)
    ) SELECT count(*)::integer AS purged FROM purged`);
  return row?.purged ?? 0;
}
