import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { PeriodicJob } from '../../flow/periodic-job.ts';
import { ServerClock } from '../../flow/server-clock.ts';
import { type DeliveryOutcome, type SenderOptions, send } from '../../outbound/sender.ts';
import type { SealKeys } from '../../outbound/signature.ts';
import type { Database } from '../../store/driver/postgres.ts';
import {
  type Claim,
  claimDeliveries,
  purgeDeliveries,
  SEATS,
  type Settlement,
  settleDeliveries,
} from '../../store/events/deliveries.ts';
import { type McpSending, mcpMessage } from '../mcp/messages.ts';
import { wakeAtReceipts } from '../notified.ts';
import { webhookMessage } from './message.ts';
import { waitAfter } from './schedule.ts';

export interface WebhooksOptions {
  readonly db: Database;
  readonly eventKey: () => Promise<Uint8Array>;
  readonly keys: Pick<SealKeys, 'open'>;
  readonly sender: SenderOptions;
  /** Seconds before each attempt at a delivery: one to five values. */
  readonly schedule: readonly number[];
  /** Undefined: this process delivers nothing to subscriptions of MCP clients. */
  readonly mcp?: McpSending | undefined;
  readonly onError: (error: unknown) => void;
}

/** Milliseconds between two searches. A revoked credential's deliveries must be dropped within a second. */
const EVERY = 500;
/** Milliseconds until the next try to write an outcome, when another statement has locked the endpoint. */
const HELD = 10;
/** How many times a stopping process tries to write the last outcomes. */
const LAST = 50;
/**
 * The longest time in milliseconds from a lease to its use. An older lease is given back, so no delivery starts later
 * than this after its credential was revoked. The age is that of each lease and not of the round, so the leases that a
 * long round made last are used.
 */
const FRESH = 1_000;
/** Milliseconds that running attempts have when the process stops. */
const GRACE = 3_000;
const PURGE_EVERY = 60_000;
const PURGED = 1_000;

/**
 * Delivers webhooks. Every replica does this. In each run, one statement stores the outcomes of ended attempts, and
 * the next statement leases due deliveries. A lease is for one attempt. If a process dies before it stores the outcome,
 * another process repeats the attempt after the lease has expired.
 */
export function startWebhooks(options: WebhooksOptions): { stop(): Promise<void> } {
  const { db, schedule, onError } = options;
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const flying = new Set<Promise<void>>();
  const ended: Settlement[] = [];
  let purgedAt = performance.now();
  let stopped = false;

  // The latest time that can be true, until an answer of PostgreSQL tells more.
  const clock = new ServerClock(Number.POSITIVE_INFINITY);
  const settle = async (): Promise<void> => {
    const batch = ended.slice();
    if (batch.length === 0) return;
    const later = new Set((await settleDeliveries(db, batch)).later);
    ended.splice(0, batch.length, ...batch.filter(({ id }) => later.has(id)));
    if (later.size > 0) job.wakeIn(HELD);
  };
  /** Stores the last outcomes. Waits for locked endpoints, because only this process knows these outcomes. */
  const settleLast = async (): Promise<void> => {
    for (let n = 0; ended.length > 0 && n < LAST; n++) {
      if (n > 0) await pause(HELD);
      await settle();
    }
  };
  const attempt = async (claim: Claim): Promise<void> => {
    const outcome = await sendClaim(options, claim, stopping.signal);
    ended.push(settlementOf(claim, outcome, schedule));
    job.wake();
  };
  const deliver = async (): Promise<void> => {
    await settle().catch(onError);
    const seats = SEATS - flying.size - ended.length;
    if (stopped || seats <= 0) return;
    const eventKey = await options.eventKey();
    const asked = performance.now();
    const { claims, more, began, answered } = await claimDeliveries(db, {
      ...{ eventKey, seats, schedule },
      mcp: options.mcp !== undefined,
    });
    clock.learn(asked, began, answered);
    const oldest = stopped ? Number.POSITIVE_INFINITY : clock.now - FRESH;
    const late = claims.filter(({ at }) => at < oldest);
    if (late.length > 0) {
      ended.push(...late.map(givenBack));
      job.wake();
    }
    for (const claim of claims) {
      if (claim.at < oldest) continue;
      const one = attempt(claim).catch(onError);
      flying.add(one);
      one.finally(() => flying.delete(one));
    }
    if (more) job.wake();
    if (asked - purgedAt < PURGE_EVERY) return;
    // At most one purge happens in a run, because deliveries wait until the run has ended.
    if ((await purgeDeliveries(db, PURGED)) < PURGED) purgedAt = asked;
  };
  const job = new PeriodicJob({ every: EVERY, run: deliver, onError });
  const listening = wakeAtReceipts(db, job);
  job.wake();
  return {
    stop: async () => {
      stopped = true;
      await listening.close();
      const grace = setTimeout(() => stopping.abort(), GRACE);
      // While the last attempts run, store each outcome at once: the process can be killed before they have all ended.
      await Promise.all(flying);
      clearTimeout(grace);
      await job.stop();
      await settleLast().catch(onError);
    },
  };
}

/** Sends a leased attempt. Undefined if none of the operator's keys decrypts the signing secret. */
export async function sendClaim(
  { keys, sender, mcp }: Pick<WebhooksOptions, 'keys' | 'sender' | 'mcp'>,
  claim: Claim,
  stop?: AbortSignal,
): Promise<DeliveryOutcome | undefined> {
  const sealed = [claim.secret, ...(claim.oldSecret === null ? [] : [claim.oldSecret])];
  const secrets = sealed.flatMap((one) => keys.open('webhook secret', one) ?? []);
  if (secrets.length === 0) return undefined;
  const message = claim.mcp && mcp ? mcpMessage(mcp, claim, claim.mcp) : webhookMessage(claim);
  return send({ at: claim.at, url: claim.url, secrets, message }, sender, stop);
}

/** Seconds until another lease, if the signing secret could not be decrypted. Another process can have the key. */
const UNREADABLE = 30;
const GONE = 410;
const TOO_LARGE = 413;
/** Seconds between two attempts for an MCP subscription, at most. Its client gives up after some 15 minutes. */
const MCP_WAIT_MAX = 180;
/** Statuses for which the gateway reads Retry-After. */
const BUSY: readonly number[] = [429, 503];

export function settlementOf(
  claim: Claim,
  outcome: DeliveryOutcome | undefined,
  schedule: readonly number[],
): Settlement {
  const status = outcome?.status ?? null;
  const error = outcome === undefined ? 'secret_sealed_by_unknown_key' : 'error' in outcome ? outcome.error : null;
  const answered = error === null ? status : null;
  // The receiver of an MCP subscription answers 410 to a delivery that it does not want, and wants the next one.
  const unwanted = answered === GONE && claim.mcp !== undefined;
  const delivered = unwanted || (answered !== null && answered >= 200 && answered <= 299);
  const gone = answered === GONE && !unwanted;
  const last = gone || (answered === TOO_LARGE && claim.mcp !== undefined);
  const retryAfter =
    outcome && 'retryAfter' in outcome && BUSY.includes(outcome.status) ? outcome.retryAfter : undefined;
  if (outcome === undefined && !claim.test) return { ...givenBack(claim), wait: UNREADABLE, error };
  const waits = claim.mcp ? schedule.map((wait) => Math.min(wait, MCP_WAIT_MAX)) : schedule;
  const next = delivered || last ? null : waitAfter(waits, claim.number, retryAfter);
  // This process stopped the attempt itself. Another process repeats it at once.
  const wait = error === 'interrupted' && next !== null ? 0 : next;
  return { ...givenBack(claim), unused: false, delivered, wait, gone, status, error };
}

function givenBack({ id, endpoint, url, attempt, losses }: Claim): Settlement {
  const none = { delivered: false, gone: false, status: null, error: null };
  return { id, endpoint, url, attempt, losses, ...none, unused: true, wait: 0 };
}
