import { Failure } from '../core/failures.ts';
import { type Grant, oweQuota, seeQuota, takeQuota, takesNoWrites } from '../store/calls/quota.ts';
import { isUnavailable, StoreUnreachable } from '../store/driver/errors.ts';
import type { Database } from '../store/driver/postgres.ts';

/** State of an app's quota bucket, for the RateLimit headers (draft-ietf-httpapi-ratelimit-headers-10). */
export interface QuotaState {
  readonly perMinute: number;
  readonly remaining: number;
  /** Seconds until one more unit is available. 0 means that the bucket is full. */
  readonly reset: number;
}

interface Lease {
  held: number;
  unspent: number;
  readonly grantedIn: string;
  /**
   * End of the lease on the clock performance.now(), in milliseconds. This clock only measures the duration of the
   * lease. Decisions about quota use the clock of PostgreSQL.
   */
  readonly until: number;
  remaining: number;
  readonly perMinute: number;
  readonly burst: number;
}

const LEASE_SECONDS = 2;

/**
 * Level of a quota bucket that this process counts while the store accepts no writes. `at` is the time by
 * performance.now().
 */
interface LocalBucket {
  readonly tokens: number;
  readonly at: number;
}

/**
 * The token bucket of each app is in PostgreSQL. All surfaces and replicas share the bucket. A replica leases a few
 * units at a time and spends them in memory. The reason is cost (measured): a bucket row in every statement takes 42 %
 * of the throughput of a read. Leases take one statement in about fifteen calls. Leased units are out of the bucket
 * until a replica spends or returns them. Therefore all replicas together never grant more than the quota.
 */
export class Quota {
  readonly #db: Database;
  readonly #leases = new Map<string, Lease>();
  readonly #requests = new Map<string, Promise<Lease | null> | undefined>();
  readonly #localBuckets = new Map<string, LocalBucket>();
  /** Units that an app owes and that are not yet subtracted from its bucket. */
  readonly #owed = new Map<string, number>();
  #refusals = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Spends `cost` units of the app and returns the number of units that were spent. Throws `quota_exceeded`, or
   * `service_unavailable` if the gateway cannot reach the bucket. `before` is the number of units that the same request
   * has already spent.
   */
  async charge(app: string, cost: number, before = 0): Promise<number> {
    if (cost === 0) return 0;
    // A request that costs more than the burst takes the whole burst, because the bucket can never hold more.
    const dueOf = (burst: number): number => Math.min(cost, Math.max(0, burst - before));
    for (;;) {
      const lease = this.#leases.get(app);
      const due = dueOf(lease?.burst ?? cost + before);
      if (lease && lease.unspent >= due && performance.now() < lease.until) {
        lease.unspent -= due;
        return due;
      }
      const waiting = this.#requests.get(app) !== undefined;
      const fresh = await this.#lease(app, cost);
      if (waiting) continue; // calls that waited share the lease that another call requested
      if (!fresh) throw new Failure('unauthenticated');
      const lacking = dueOf(fresh.burst) - fresh.unspent;
      // If the bucket has enough units, other calls have taken the units of this lease. Request another lease.
      if (lacking > fresh.remaining) {
        this.#refusals++;
        throw new Failure('quota_exceeded', { retryAfter: seconds(lacking - fresh.remaining, fresh.perMinute) });
      }
    }
  }

  /** Takes back the charge of a call that had no authority. */
  refund(app: string, cost: number): void {
    const lease = this.#leases.get(app);
    if (lease) lease.unspent = Math.min(lease.held, lease.unspent + cost);
  }

  /**
   * Takes units for finished work, and never refuses. Leased units are taken first, then units of the bucket. The
   * bucket can become negative. Every replica then refuses the next calls of the app until the bucket has refilled.
   */
  async owe(app: string, units: number): Promise<void> {
    const lease = this.#leases.get(app);
    const here = lease && performance.now() < lease.until ? Math.min(lease.unspent, units) : 0;
    if (lease) lease.unspent -= here;
    if (here === units) return;
    this.#owed.set(app, (this.#owed.get(app) ?? 0) + units - here);
    await this.#settle(app);
  }

  /** Subtracts the owed units from the bucket. If the store is unavailable, the next lease request tries again. */
  async #settle(app: string): Promise<void> {
    const units = this.#owed.get(app) ?? 0;
    if (units === 0) return;
    this.#owed.set(app, 0);
    try {
      await oweQuota(this.#db, app, units);
      const lease = this.#leases.get(app);
      if (lease) lease.remaining -= units;
    } catch (error) {
      this.#owed.set(app, (this.#owed.get(app) ?? 0) + units);
      if (!isUnavailable(error)) throw error;
    }
  }

  /** Number of charges that this process has refused. */
  get refusals(): number {
    return this.#refusals;
  }

  /** Returns the state of the app's bucket. `undefined` means that this process has not charged the app yet. */
  state(app: string): QuotaState | undefined {
    const lease = this.#leases.get(app);
    if (!lease) return undefined;
    const remaining = Math.max(0, Math.floor(lease.unspent + lease.remaining));
    return { perMinute: lease.perMinute, remaining, reset: remaining >= lease.burst ? 0 : seconds(1, lease.perMinute) };
  }

  /** Requests a lease, with one statement at a time for each app. Later calls of the app wait for the same lease. */
  #lease(app: string, cost: number): Promise<Lease | null> {
    const before = this.#requests.get(app);
    if (before) return before;
    // Set `undefined` and do not delete the key. A Map that gains and loses keys on each call keeps deleted values in
    // the old generation of V8's heap (core/line.ts).
    const request = this.#requestLease(app, cost).finally(() => this.#requests.set(app, undefined));
    this.#requests.set(app, request);
    return request;
  }

  async #requestLease(app: string, cost: number): Promise<Lease | null> {
    if (this.#owed.get(app)) await this.#settle(app);
    const began = performance.now();
    const last = this.#leases.get(app);
    const { held = 0, unspent = 0, grantedIn: heldIn = '0' } = last ?? {};
    // The lease statement returns the unspent units to the bucket, so no call may spend these units meanwhile. If the
    // statement fails, the units are either returned or lost.
    if (last) {
      last.remaining += unspent;
      last.held = 0;
      last.unspent = 0;
    }
    // Lease an eighth of the remaining units. A full bucket gives many units, and an almost empty bucket gives single
    // units.
    const want = Math.max(cost, Math.floor((last?.remaining ?? 0) / 8));
    const grant = await takeQuota(this.#db, app, {
      need: cost,
      want,
      held,
      unspent,
      heldIn,
      windowSeconds: LEASE_SECONDS * 2,
    }).then(
      (taken) => {
        this.#localBuckets.delete(app);
        return taken;
      },
      (cause: unknown) => {
        if (takesNoWrites(cause)) return this.#grantLocally(app, cost, want);
        throw cause instanceof StoreUnreachable ? new Failure('service_unavailable', { cause, retryAfter: 1 }) : cause;
      },
    );
    if (!grant) return null;
    const lease = {
      held: grant.granted,
      unspent: grant.granted,
      grantedIn: grant.granted_in,
      until: began + LEASE_SECONDS * 1000,
      remaining: grant.remaining,
      perMinute: grant.per_minute,
      burst: grant.burst,
    };
    this.#leases.set(app, lease);
    return lease;
  }

  /**
   * Grants units while the store is read-only, so that reads continue (F-19). The local bucket starts at the last
   * stored level and refills at the rate of the app. Each replica has its own local bucket until the store accepts
   * writes again.
   */
  async #grantLocally(app: string, need: number, want: number): Promise<Grant | null> {
    const bucket = await seeQuota(this.#db, app);
    if (!bucket) return null;
    const { per_minute, burst } = bucket;
    const now = performance.now();
    const { tokens, at } = this.#localBuckets.get(app) ?? { tokens: bucket.remaining, at: now };
    const left = Math.min(burst, tokens + ((now - at) * per_minute) / 60_000) - (this.#owed.get(app) ?? 0);
    this.#owed.set(app, 0);
    const granted = left >= Math.min(need, burst) ? Math.min(want, Math.floor(left)) : 0;
    const remaining = left - granted;
    this.#localBuckets.set(app, { tokens: remaining, at: now });
    // '0' names no time window. When the store accepts writes again, units that are still unspent do not return to the
    // bucket.
    return { granted, granted_in: '0', remaining, per_minute, burst };
  }
}

const seconds = (units: number, perMinute: number): number => Math.max(1, Math.ceil((units * 60) / perMinute));
