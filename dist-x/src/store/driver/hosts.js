import { addressesOf } from '../../core/store-address.js';
/**
 * The hosts of the store's address, of which one at a time is used: the last good one. A host that refuses, that is
 * silent, or that is a standby is left for the next one. The driver's own list of hosts is not used: it reports no error
 * of connecting, so a statement would wait for ever.
 */
export class Hosts {
    #all;
    #pools = new Set();
    #current = 0;
    constructor(addresses) {
        this.#all = addresses;
    }
    get count() {
        return this.#all.length;
    }
    /** The address of the host that the next attempt uses. */
    get current() {
        return this.#all[this.#current] ?? '';
    }
    /**
     * Called when a host cannot be used. Several attempts can find out at the same time. All pools leave it together: a
     * connection that stays there could be answered by a primary that another one has replaced. `cutOff`: the host is
     * such a primary (open/fence.ts), so an address with one host may lead to another server now.
     */
    leave(address, cutOff = false) {
        if (address !== this.current || (this.count === 1 && !cutOff))
            return;
        this.#current = (this.#current + 1) % this.#all.length;
        this.renew();
    }
    /** All pools make new connections from now on, because another server answers at the address. */
    renew() {
        for (const renew of this.#pools)
            renew();
    }
    /** Calls `renew` when the host is left. Returns a function that ends this. */
    follow(renew) {
        this.#pools.add(renew);
        return () => void this.#pools.delete(renew);
    }
}
const KNOWN = new Map();
/** All pools of an address use the same host. */
export function hostsOf(address) {
    const known = KNOWN.get(address) ?? new Hosts(addressesOf(address));
    KNOWN.set(address, known);
    return known;
}
//# sourceMappingURL=hosts.js.map