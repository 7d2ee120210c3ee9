/** Calls that wait in a process, of at most 2 KiB each. One organization can have half of them. */
const QUEUED = 10_000;
const SHARE = QUEUED / 2;
/** Records of writes that wait for their seal. Upkeep finds the others. */
const SEALS = 10_000;
/** The calls of a process whose records are not in PostgreSQL yet, the oldest first. Counts those that have no room. */
export class Queue {
    #calls = [];
    #seals = new Set();
    /** Records that this process cannot seal. */
    #aside = new Set();
    #shares = new Map();
    #lost = new Map();
    lostTotal = 0;
    get size() {
        return this.#calls.length;
    }
    get waits() {
        return this.#calls.length > 0 || this.#seals.size > 0 || this.#lost.size > 0;
    }
    /** `always`: the record tells of a loss. */
    add(call, always = false) {
        const { organizationId } = call.report.actor;
        const share = this.#shares.get(organizationId) ?? 0;
        if (!always && (this.#calls.length >= QUEUED || share >= SHARE))
            this.lose(call);
        else {
            this.#shares.set(organizationId, share + 1);
            this.#calls.push(call);
        }
    }
    seal(id) {
        if (this.#seals.size < SEALS && !this.#aside.has(id))
            this.#seals.add(id);
    }
    /** The record is not sealed by this process. */
    setAside(id) {
        this.#seals.delete(id);
        if (this.#aside.size < SEALS)
            this.#aside.add(id);
    }
    get aside() {
        return [...this.#aside];
    }
    lose({ report, origin: { surface } }) {
        this.lostTotal++;
        const organization = report.actor.organizationId;
        const key = `${surface} ${organization}`;
        const known = this.#lost.get(key);
        if (known)
            known.count++;
        else
            this.#lost.set(key, { organization, surface, count: 1 });
    }
    lostOf(organization) {
        let count = 0;
        for (const one of this.#lost.values())
            if (one.organization === organization)
                count += one.count;
        return count;
    }
    /** Takes the counts of lost records, to record them. */
    takeLost() {
        if (this.#lost.size === 0)
            return [];
        const taken = [...this.#lost.values()];
        this.#lost = new Map();
        return taken;
    }
    /** The first `n` calls, which stay in the queue. */
    first(n) {
        return this.#calls.slice(0, n);
    }
    firstSeals(n) {
        return [...this.#seals].slice(0, n);
    }
    /** Removes the first `n` calls, whose records are now in PostgreSQL. */
    remove(n) {
        const removed = this.#calls.splice(0, n);
        for (const { report } of removed) {
            const { organizationId } = report.actor;
            // The key stays: a Map that gains and loses keys on each call fills the old generation of V8's heap.
            this.#shares.set(organizationId, (this.#shares.get(organizationId) ?? 1) - 1);
        }
        return removed;
    }
    removeSeals(ids) {
        for (const id of ids)
            this.#seals.delete(id);
    }
}
//# sourceMappingURL=queue.js.map