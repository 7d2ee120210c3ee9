import { Failure } from '../core/failures.js';
import { oweQuota, seeQuota, takeQuota, takesNoWrites } from '../store/calls/quota.js';
import { isUnavailable, StoreUnreachable } from '../store/driver/errors.js';
const LEASE_SECONDS = 2;
/**
 * Each app has a token bucket in PostgreSQL, for all surfaces and replicas. A replica takes several units at once (a
 * lease) and spends them from memory. Without leases, every call updates the bucket's row, which costs 42 % of the
 * throughput of reads (measured). With leases, about one call in fifteen needs a statement. Leased units have left the
 * bucket, so all replicas together never grant more than the quota.
 */
export class Quota {
    #db;
    #leases = new Map();
    #requests = new Map();
    #localBuckets = new Map();
    /** By app: used units that are not yet subtracted from the bucket. */
    #owed = new Map();
    #refusals = 0;
    constructor(db) {
        this.#db = db;
    }
    /**
     * Spends `cost` units and returns how many it spent. Throws `quota_exceeded`, or `service_unavailable` if the bucket
     * cannot be reached. `before`: the units that the request has already spent.
     */
    async charge(app, cost, before = 0) {
        if (cost === 0)
            return 0;
        // The bucket holds at most the burst, so a request that costs more takes the whole burst.
        const dueOf = (burst) => Math.min(cost, Math.max(0, burst - before));
        for (;;) {
            const lease = this.#leases.get(app);
            const due = dueOf(lease?.burst ?? cost + before);
            if (lease && lease.unspent >= due && performance.now() < lease.until) {
                lease.unspent -= due;
                return due;
            }
            const waiting = this.#requests.get(app) !== undefined;
            const fresh = await this.#lease(app, cost);
            if (waiting)
                continue; // another call requested this lease, so check the units again
            if (!fresh)
                throw new Failure('unauthenticated');
            const lacking = dueOf(fresh.burst) - fresh.unspent;
            // If even the bucket has too few units, refuse. Otherwise other calls have used up the new lease, so request
            // another.
            if (lacking > fresh.remaining) {
                this.#refusals++;
                throw new Failure('quota_exceeded', { retryAfter: seconds(lacking - fresh.remaining, fresh.perMinute) });
            }
        }
    }
    /** Gives charged units back, for example after a call with an invalid token. */
    refund(app, cost) {
        const lease = this.#leases.get(app);
        if (lease)
            lease.unspent = Math.min(lease.held, lease.unspent + cost);
    }
    /**
     * Subtracts units for work that is already done, from the lease first. Never refuses: the bucket can become negative.
     * Then all replicas refuse the app's calls until the bucket has refilled.
     */
    async owe(app, units) {
        const lease = this.#leases.get(app);
        const here = lease && performance.now() < lease.until ? Math.min(lease.unspent, units) : 0;
        if (lease)
            lease.unspent -= here;
        if (here === units)
            return;
        this.#owed.set(app, (this.#owed.get(app) ?? 0) + units - here);
        await this.#settle(app);
    }
    /** Without the store, the units stay owed until the next lease request. */
    async #settle(app) {
        const units = this.#owed.get(app) ?? 0;
        if (units === 0)
            return;
        this.#owed.set(app, 0);
        try {
            await oweQuota(this.#db, app, units);
            const lease = this.#leases.get(app);
            if (lease)
                lease.remaining -= units;
        }
        catch (error) {
            this.#owed.set(app, (this.#owed.get(app) ?? 0) + units);
            if (!isUnavailable(error))
                throw error;
        }
    }
    get refusals() {
        return this.#refusals;
    }
    /** Undefined if this process has not charged the app yet. */
    state(app) {
        const lease = this.#leases.get(app);
        if (!lease)
            return undefined;
        const remaining = Math.max(0, Math.floor(lease.unspent + lease.remaining));
        return { perMinute: lease.perMinute, remaining, reset: remaining >= lease.burst ? 0 : seconds(1, lease.perMinute) };
    }
    /** The app’s quota. Undefined if this process has not charged the app yet. */
    sizeOf(app) {
        return this.#leases.get(app);
    }
    /** One statement at a time requests a lease for an app. The app's other calls wait for it. */
    #lease(app, cost) {
        const before = this.#requests.get(app);
        if (before)
            return before;
        // Do not delete the key from the Map. A Map that gains and loses keys on each call fills the old generation of V8's
        // heap (flow/fair-queue.ts).
        const request = this.#requestLease(app, cost).finally(() => this.#requests.set(app, undefined));
        this.#requests.set(app, request);
        return request;
    }
    async #requestLease(app, cost) {
        if (this.#owed.get(app))
            await this.#settle(app);
        const began = performance.now();
        const last = this.#leases.get(app);
        const { held = 0, unspent = 0, grantedIn: heldIn = '0' } = last ?? {};
        // The statement returns the old lease's unspent units to the bucket, so no call may spend them now. If it fails,
        // nobody knows whether the bucket got them.
        if (last) {
            last.remaining += unspent;
            last.held = 0;
            last.unspent = 0;
        }
        // A lease is an eighth of the bucket: many units from a full bucket, single units from an almost empty one.
        const want = Math.max(cost, Math.floor((last?.remaining ?? 0) / 8));
        const grant = await takeQuota(this.#db, app, {
            need: cost,
            want,
            held,
            unspent,
            heldIn,
            windowSeconds: LEASE_SECONDS * 2,
        }).then((taken) => {
            this.#localBuckets.delete(app);
            return taken;
        }, (cause) => {
            if (takesNoWrites(cause))
                return this.#grantLocally(app, cost, want);
            throw cause instanceof StoreUnreachable ? new Failure('service_unavailable', { cause, retryAfter: 1 }) : cause;
        });
        if (!grant)
            return null;
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
     * Grants units while the store is read-only, so that reads continue (F-19). Each replica then counts in a bucket of
     * its own in memory. It starts at the stored level and refills at the usual rate.
     */
    async #grantLocally(app, need, want) {
        const bucket = await seeQuota(this.#db, app);
        if (!bucket)
            return null;
        const { per_minute, burst } = bucket;
        const now = performance.now();
        const { tokens, at } = this.#localBuckets.get(app) ?? { tokens: bucket.remaining, at: now };
        const left = Math.min(burst, tokens + ((now - at) * per_minute) / 60_000) - (this.#owed.get(app) ?? 0);
        this.#owed.set(app, 0);
        const granted = left >= Math.min(need, burst) ? Math.min(want, Math.floor(left)) : 0;
        const remaining = left - granted;
        this.#localBuckets.set(app, { tokens: remaining, at: now });
        // The window '0' does not exist, so the grant's unspent units never return to the stored bucket.
        return { granted, granted_in: '0', remaining, per_minute, burst };
    }
}
const seconds = (units, perMinute) => Math.max(1, Math.ceil((units * 60) / perMinute));
//# sourceMappingURL=quota.js.map