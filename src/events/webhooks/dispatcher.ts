import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Rounds } from '../../core/rounds.ts';
import type { Database } from '../../store/driver/postgres.ts';
import {
  type Claim,
  claimDeliveries,
  purgeDeliveries,
  SEATS,
  type Settlement,
  settleDeliveries,
} from '../../store/events/deliveries.ts';
import { waitAfter } from './schedule.ts';
import { type Outcome, type SenderOptions, send } from './sender.ts';
import type { SealKeys } from './signature.ts';

export interface WebhooksOptions {
  readonly db: Database;
  readonly eventKey: () => Promise<Uint8Array>;
  readonly keys: Pick<SealKeys, 'open'>;
  readonly sender: SenderOptions;
  /** Seconds to wait before each attempt at a delivery. One to five values. */
  readonly schedule: readonly number[];
  readonly onError: (error: unknown) => void;
}

/**
 * Milliseconds between two searches for due deliveries. The interval is short, because the waiting deliveries of a
 * revoked credential must be dropped within a second.
 */
const EVERY = 500;
/**
 * After a notification, due deliveries are searched at once, and again after this many milliseconds. The second search
 * is needed, because a journal sends at most one notification in 25 ms for each website. Receipts that follow within 25
 * ms can have no notification.
 */
const AGAIN = 30;
/**
 * If another statement has locked the endpoint, the process tries again to write the outcome after this many
 * milliseconds.
 */
const HELD = 10;
/** When the process stops, the process tries at most this many times to write the last outcomes. */
const LAST = 50;
/**
 * The longest time in milliseconds from the request for a lease to the use of the lease. The process gives an older
 * lease back. So a delivery starts at most this long after the revocation of its credential.
 */
const FRESH = 1_000;
/** When the process stops, running attempts have this many milliseconds to end. */
const GRACE = 3_000;
const PURGE_EVERY = 60_000;
const PURGED = 1_000;

/**
 * Delivers webhooks. Every replica does this. In each round, one statement stores the outcomes of ended attempts, and
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

  let again: NodeJS.Timeout | undefined;
  const lookIn = (milliseconds: number): void => {
    clearTimeout(again);
    if (!stopped) again = setTimeout(() => rounds.wake(), milliseconds).unref();
  };
  const settle = async (): Promise<void> => {
    const batch = ended.slice();
    if (batch.length === 0) return;
    const later = new Set((await settleDeliveries(db, batch)).later);
    ended.splice(0, batch.length, ...batch.filter(({ id }) => later.has(id)));
    if (later.size > 0) lookIn(HELD);
  };
  /**
   * Stores the last outcomes when the process stops. Waits for locked endpoints, because only this process knows these
   * outcomes.
   */
  const settleLast = async (): Promise<void> => {
    for (let n = 0; ended.length > 0 && n < LAST; n++) {
      if (n > 0) await pause(HELD);
      await settle();
    }
  };
  const attempt = async (claim: Claim): Promise<void> => {
    const outcome = await sendClaim(options, claim, stopping.signal);
    ended.push(settlementOf(claim, outcome, schedule));
    rounds.wake();
  };
  const round = async (): Promise<void> => {
    await settle().catch(onError);
    const seats = SEATS - flying.size - ended.length;
    if (stopped || seats <= 0) return;
    const asked = performance.now();
    const eventKey = await options.eventKey();
    const { claims, more } = await claimDeliveries(db, { eventKey, seats, schedule });
    const late = stopped || performance.now() - asked > FRESH;
    if (late && claims.length > 0) {
      ended.push(...claims.map(givenBack));
      rounds.wake();
    }
    for (const claim of late ? [] : claims) {
      const one = attempt(claim).catch(onError);
      flying.add(one);
      one.finally(() => flying.delete(one));
    }
    if (more) rounds.wake();
    if (asked - purgedAt < PURGE_EVERY) return;
    // At most one purge runs in a round, because deliveries wait until the round has ended.
    if ((await purgeDeliveries(db, PURGED)) < PURGED) purgedAt = asked;
  };
  const rounds = new Rounds({ every: EVERY, round, onError });
  const listening = db.listen('gateway_journal', () => {
    rounds.wake();
    lookIn(AGAIN);
  });
  rounds.wake();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(again);
      await listening.close();
      const grace = setTimeout(() => stopping.abort(), GRACE);
      // While the last attempts run, each outcome is stored at once. The process can be killed before all attempts have
      // ended.
      await Promise.all(flying);
      clearTimeout(grace);
      await rounds.stop();
      await settleLast().catch(onError);
    },
  };
}

/**
 * Sends the delivery of a claim (a leased attempt). Returns `undefined` if none of the operator's keys can decrypt the
 * signing secret.
 */
export async function sendClaim(
  { keys, sender }: Pick<WebhooksOptions, 'keys' | 'sender'>,
  claim: Claim,
  stop?: AbortSignal,
): Promise<Outcome | undefined> {
  const sealed = [claim.secret, ...(claim.oldSecret === null ? [] : [claim.oldSecret])];
  const secrets = sealed.flatMap((one) => keys.open('webhook secret', one) ?? []);
  if (secrets.length === 0) return undefined;
  return send({ ...claim, secrets }, sender, stop);
}

/**
 * Seconds until a delivery is leased again when its signing secret could not be decrypted. Another process can have the
 * key.
 */
const UNREADABLE = 30;
const GONE = 410;
/** HTTP statuses for which the gateway reads the header Retry-After. */
const BUSY: readonly number[] = [429, 503];

export function settlementOf(claim: Claim, outcome: Outcome | undefined, schedule: readonly number[]): Settlement {
  const status = outcome?.status ?? null;
  const error = outcome === undefined ? 'secret_sealed_by_unknown_key' : 'error' in outcome ? outcome.error : null;
  const delivered = error === null && status !== null && status >= 200 && status <= 299;
  const gone = error === null && status === GONE;
  const retryAfter =
    outcome && 'retryAfter' in outcome && BUSY.includes(outcome.status) ? outcome.retryAfter : undefined;
  if (outcome === undefined && !claim.test) return { ...givenBack(claim), wait: UNREADABLE, error };
  const next = delivered || gone ? null : waitAfter(schedule, claim.number, retryAfter);
  // This process stopped the attempt itself, so another process repeats the attempt at once.
  const wait = error === 'interrupted' && next !== null ? 0 : next;
  return { ...givenBack(claim), unused: false, delivered, wait, gone, status, error };
}

function givenBack({ id, endpoint, url, attempt, losses }: Claim): Settlement {
  const none = { delivered: false, gone: false, status: null, error: null };
  return { id, endpoint, url, attempt, losses, ...none, unused: true, wait: 0 };
}
