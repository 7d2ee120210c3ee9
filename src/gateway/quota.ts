import { Failure } from '../core/failures.ts';
import { type Grant, oweQuota, seeQuota, takeQuota, takesNoWrites } from '../store/calls/quota.ts';
import { type Database, isUnavailable, StoreUnreachable } from '../store/driver/postgres.ts';

/** State of an app's bucket as the RateLimit headers tell it (draft-ietf-httpapi-ratelimit-headers-10). */
export interface QuotaState {
  readonly perMinute: number;
  readonly remaining: number;
  /** Seconds until a unit more is there; 0 while the bucket is full. */
  readonly reset: number;
}

interface Lease {
  held: number;
  unspent: number;
  readonly grantedIn: string;
  /** performance.now() in milliseconds: a length of time, not a decision about the clock. */
  readonly until: number;
  remaining: number;
  readonly perMinute: number;
  readonly burst: number;
}

const LEASE_SECONDS = 2;

/** What is left of a bucket that cannot be written, by this process's count; `at` is performance.now(). */
interface Kept {
  readonly tokens: number;
  readonly at: number;
}

/**
 * The token bucket of each app lives in PostgreSQL and is shared by surfaces and replicas (decisions, section 21). A
 * replica leases a few units at a time and spends them in memory: a bucket row in every statement cost 42 % of a
 * read's throughput, leases cost one statement in about fifteen calls. Leased units are out of the bucket until they are
 * spent or given back, so no number of replicas grants more than the quota.
 */
export class Quota {
  readonly #db: Database;
  readonly #leases = new Map<string, Lease>();
  readonly #asking = new Map<string, Promise<Lease | null> | undefined>();
  readonly #kept = new Map<string, Kept>();
  /** Units of an app that its bucket has not been told of yet. */
  readonly #owed = new Map<string, number>();
  #refusals = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Spends `cost` units of the app, and says how many they came to, or throws `quota_exceeded`; unreachable state is
   * `service_unavailable`, never a pass. `before`: units that the same request has spent already.
   */
  async charge(app: string, cost: number, before = 0): Promise<number> {
    if (cost === 0) return 0;
    // A request that costs more than the burst takes the whole of it: waiting for more would never help.
    const dueOf = (burst: number): number => Math.min(cost, Math.max(0, burst - before));
    for (;;) {
      const lease = this.#leases.get(app);
      const due = dueOf(lease?.burst ?? cost + before);
      if (lease && lease.unspent >= due && performance.now() < lease.until) {
        lease.unspent -= due;
        return due;
      }
      const waiting = this.#asking.get(app) !== undefined;
      const fresh = await this.#asked(app, cost);
      if (waiting) continue; // what another call asked for is shared out among those who waited
      if (!fresh) throw new Failure('unauthenticated');
      const lacking = dueOf(fresh.burst) - fresh.unspent;
      // Where the bucket has enough, others were only quicker to take what this call had asked for.
      if (lacking > fresh.remaining) {
        this.#refusals++;
        throw new Failure('quota_exceeded', { retryAfter: seconds(lacking - fresh.remaining, fresh.perMinute) });
      }
    }
  }

  /** Gives units back that were charged for a call which turned out to have no authority. */
  refund(app: string, cost: number): void {
    const lease = this.#leases.get(app);
    if (lease) lease.unspent = Math.min(lease.held, lease.unspent + cost);
  }

  /**
   * Takes units for work that is done, and never refuses: what is leased here, and the rest from the bucket, which may then
   * hold less than nothing. The app's next calls wait until that is filled up again, on whatever replica they come.
   */
  async owe(app: string, units: number): Promise<void> {
    const lease = this.#leases.get(app);
    const here = lease && performance.now() < lease.until ? Math.min(lease.unspent, units) : 0;
    if (lease) lease.unspent -= here;
    if (here === units) return;
    this.#owed.set(app, (this.#owed.get(app) ?? 0) + units - here);
    await this.#settle(app);
  }

  /** Tells the bucket what is owed. Where the store cannot take it now, it is told before the next lease. */
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

  /** Charges that were refused here, ever. */
  get refusals(): number {
    return this.#refusals;
  }

  /** `undefined` until something was charged to the app here. */
  state(app: string): QuotaState | undefined {
    const lease = this.#leases.get(app);
    if (!lease) return undefined;
    const remaining = Math.max(0, Math.floor(lease.unspent + lease.remaining));
    return { perMinute: lease.perMinute, remaining, reset: remaining >= lease.burst ? 0 : seconds(1, lease.perMinute) };
  }

  /** One statement at a time for an app: who comes meanwhile waits for the same answer. */
  #asked(app: string, cost: number): Promise<Lease | null> {
    const before = this.#asking.get(app);
    if (before) return before;
    // The key stays: a Map that is added to and deleted from with each call keeps what it held (core/line.ts).
    const asking = this.#ask(app, cost).finally(() => this.#asking.set(app, undefined));
    this.#asking.set(app, asking);
    return asking;
  }

  async #ask(app: string, cost: number): Promise<Lease | null> {
    if (this.#owed.get(app)) await this.#settle(app);
    const began = performance.now();
    const last = this.#leases.get(app);
    const { held = 0, unspent = 0, grantedIn: heldIn = '0' } = last ?? {};
    // From here on they are the bucket's: nobody may spend them meanwhile, and a statement that fails gave them back or
    // let them lapse.
    if (last) {
      last.remaining += unspent;
      last.held = 0;
      last.unspent = 0;
    }
    // A lease of an eighth of what is left: large while there is plenty, single units near the end of the bucket.
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
        this.#kept.delete(app);
        return taken;
      },
      (cause: unknown) => {
        if (takesNoWrites(cause)) return this.#keep(app, cost, want);
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
   * The grant of a store that can be read only (checks, F-19: reads go on): what its bucket held when it was first seen so,
   * and the app's rate from then on, counted here. Each replica counts for itself, until the store takes writes again.
   */
  async #keep(app: string, need: number, want: number): Promise<Grant | null> {
    const bucket = await seeQuota(this.#db, app);
    if (!bucket) return null;
    const { per_minute, burst } = bucket;
    const now = performance.now();
    const { tokens, at } = this.#kept.get(app) ?? { tokens: bucket.remaining, at: now };
    const left = Math.min(burst, tokens + ((now - at) * per_minute) / 60_000) - (this.#owed.get(app) ?? 0);
    this.#owed.set(app, 0);
    const granted = left >= Math.min(need, burst) ? Math.min(want, Math.floor(left)) : 0;
    const remaining = left - granted;
    this.#kept.set(app, { tokens: remaining, at: now });
    // Of no window: what is unspent when the store takes writes again is nobody's.
    return { granted, granted_in: '0', remaining, per_minute, burst };
  }
}

const seconds = (units: number, perMinute: number): number => Math.max(1, Math.ceil((units * 60) / perMinute));
