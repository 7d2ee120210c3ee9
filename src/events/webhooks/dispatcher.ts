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
  /** The store's own key, from which event ids are made (ledgerKey in store/calls/ledger.ts). */
  readonly eventKey: () => Promise<Uint8Array>;
  readonly keys: Pick<SealKeys, 'open'>;
  readonly sender: SenderOptions;
  /** Seconds before each attempt: one to five values. */
  readonly schedule: readonly number[];
  readonly onError: (error: unknown) => void;
}

/**
 * Milliseconds between two searches for due deliveries. The queue of a revoked credential is dropped within a second.
 */
const EVERY = 500;
/**
 * Milliseconds between a notification and a second search for due deliveries. A journal sends at most one notification
 * in 25 ms for each website. So a later receipt can have no notification.
 */
const AGAIN = 30;
/** Milliseconds until an outcome is written again, if another statement has locked its endpoint. */
const HELD = 10;
/** The largest number of attempts to write the last outcomes when the process stops. */
const LAST = 50;
/**
 * The longest time in milliseconds between the request for a lease and its use. An older lease is given back. So a
 * revoked delivery can go out only within this time.
 */
const FRESH = 1_000;
/** Milliseconds that running attempts get when the process stops. */
const GRACE = 3_000;
const PURGE_EVERY = 60_000;
/** The largest number of rows that one statement purges. */
const PURGED = 1_000;

/**
 * Delivers webhooks, on any replica. One statement settles the attempts that have ended. The next statement leases due
 * deliveries. Each lease is for one attempt. If a process ends before it settles an attempt, another process repeats
 * the attempt after the lease has expired.
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
  /** Writes the outcomes of ended attempts. An outcome that cannot be written now waits for another round. */
  const settle = async (): Promise<void> => {
    const batch = ended.slice();
    if (batch.length === 0) return;
    const later = new Set((await settleDeliveries(db, batch)).later);
    ended.splice(0, batch.length, ...batch.filter(({ id }) => later.has(id)));
    if (later.size > 0) lookIn(HELD);
  };
  /** Writes the last outcomes. Only this process knows them, so it waits for locked endpoints. */
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
    // Run at most one purge in a round, because deliveries wait for the end of the round.
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
      // A round settles each attempt as soon as it ends. The process can be killed before all attempts have ended.
      await Promise.all(flying);
      clearTimeout(grace);
      await rounds.stop();
      await settleLast().catch(onError);
    },
  };
}

/**
 * Sends the delivery of a claim (a lease). Returns `undefined` if none of the operator's keys opens the secret of the
 * claim.
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

/** Seconds until a claim with an unreadable secret is leased again. Another process can have the key. */
const UNREADABLE = 30;
const GONE = 410;
/** Statuses with which the header Retry-After counts. */
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
  // This process stopped the attempt, so another process repeats the attempt at once.
  const wait = error === 'interrupted' && next !== null ? 0 : next;
  return { ...givenBack(claim), unused: false, delivered, wait, gone, status, error };
}

/** The settlement of a claim (a lease) without an attempt. The delivery is due again at once. */
function givenBack({ id, endpoint, url, attempt, losses }: Claim): Settlement {
  const none = { delivered: false, gone: false, status: null, error: null };
  return { id, endpoint, url, attempt, losses, ...none, unused: true, wait: 0 };
}
