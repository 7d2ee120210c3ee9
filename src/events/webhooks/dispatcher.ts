import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
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
  /** The store's own key, of which event ids are made (store/calls/ledger.ts, ledgerKey). */
  readonly eventKey: () => Promise<Uint8Array>;
  readonly keys: Pick<SealKeys, 'open'>;
  readonly sender: SenderOptions;
  /** Seconds before each attempt, at most five (decisions, section 15). */
  readonly schedule: readonly number[];
  readonly onError: (error: unknown) => void;
}

/** Milliseconds between looks at what is due: a revoked credential's queue is dropped within a second. */
const EVERY = 500;
/** Milliseconds after which listeners look again: a website's news are told once in 25 (0011_journal.sql). */
const AGAIN = 30;
/** Milliseconds after which outcomes are written again whose endpoint somebody held. */
const HELD = 10;
/** How often that is tried when the process stops. */
const LAST = 50;
/** Milliseconds that may pass between asking for a lease and using it: what was revoked meanwhile may go out in these. */
const FRESH = 1_000;
/** Milliseconds that attempts under way have when the process stops. */
const GRACE = 3_000;
const PURGE_EVERY = 60_000;
/** Rows of one statement. */
const PURGED = 1_000;

/**
 * Delivers webhooks, on any replica: one statement settles what has ended, the next leases what is due, and each lease is
 * one attempt. What this process does not live to settle is attempted again elsewhere when its lease has lapsed.
 */
export function startWebhooks(options: WebhooksOptions): { stop(): Promise<void> } {
  const { db, schedule, onError } = options;
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const flying = new Set<Promise<void>>();
  const ended: Settlement[] = [];
  let purgedAt = performance.now();
  let [due, running, stopped] = [false, false, false];

  let again: NodeJS.Timeout | undefined;
  const lookIn = (milliseconds: number): void => {
    clearTimeout(again);
    if (!stopped) again = setTimeout(wake, milliseconds).unref();
  };
  /** What cannot be written down now waits for another round. */
  const settle = async (): Promise<void> => {
    const batch = ended.slice();
    if (batch.length === 0) return;
    const later = new Set((await settleDeliveries(db, batch)).later);
    ended.splice(0, batch.length, ...batch.filter(({ id }) => later.has(id)));
    if (later.size > 0) lookIn(HELD);
  };
  /** Nobody else knows these outcomes: who holds an endpoint for a moment is waited for. */
  const settleLast = async (): Promise<void> => {
    for (let n = 0; ended.length > 0 && n < LAST; n++) {
      if (n > 0) await pause(HELD);
      await settle();
    }
  };
  const attempt = async (claim: Claim): Promise<void> => {
    const outcome = await sendClaim(options, claim, stopping.signal);
    ended.push(settlementOf(claim, outcome, schedule));
    wake();
  };
  const round = async (): Promise<void> => {
    await settle().catch(onError);
    const seats = SEATS - flying.size - ended.length;
    if (stopped || seats <= 0) return;
    const asked = performance.now();
    const eventKey = await options.eventKey();
    const { claims, more } = await claimDeliveries(db, { eventKey, seats, schedule });
    const late = performance.now() - asked > FRESH;
    if (late && claims.length > 0) {
      ended.push(...claims.map(givenBack));
      due = true;
    }
    for (const claim of late ? [] : claims) {
      const one = attempt(claim).catch(onError);
      flying.add(one);
      one.finally(() => flying.delete(one));
    }
    if (more) due = true;
    if (asked - purgedAt < PURGE_EVERY) return;
    // One statement a round: deliveries wait for it.
    if ((await purgeDeliveries(db, PURGED)) < PURGED) purgedAt = asked;
  };
  let under: Promise<void> = Promise.resolve();
  /** One round at a time, and another after it where one was asked for meanwhile. */
  const wake = (): void => {
    due = true;
    if (running) return;
    running = true;
    under = (async () => {
      while (due) {
        due = false;
        await round();
      }
    })()
      .catch(onError)
      .finally(() => {
        running = false;
        if (due) wake();
      });
  };
  const listening = db.listen('gateway_journal', () => {
    wake();
    lookIn(AGAIN);
  });
  const timer = setInterval(wake, EVERY).unref();
  wake();
  return {
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await listening.close();
      clearTimeout(again);
      const grace = setTimeout(() => stopping.abort(), GRACE);
      await under;
      await Promise.all(flying);
      clearTimeout(grace);
      await under;
      await settleLast().catch(onError);
    },
  };
}

/** Makes the attempt that a claim leases. `undefined`: none of the operator's keys opens its secret. */
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

/** Seconds after which a claim is asked for again whose secret this process cannot read: another one may. */
const UNREADABLE = 30;
const GONE = 410;
/** What Retry-After is listened to of. */
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
  // Cut off by us: another process goes on at once.
  const wait = error === 'interrupted' && next !== null ? 0 : next;
  return { ...givenBack(claim), unused: false, delivered, wait, gone, status, error };
}

/** Of a claim that was not attempted: it is due at once. */
function givenBack({ id, endpoint, url, attempt, losses }: Claim): Settlement {
  const none = { delivered: false, gone: false, status: null, error: null };
  return { id, endpoint, url, attempt, losses, ...none, unused: true, wait: 0 };
}
