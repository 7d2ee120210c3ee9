import { addressesOf } from '../../core/store-address.ts';

/**
 * The hosts of the store's address, of which one at a time is used: the last good one. A host that refuses, that is
 * silent, or that is a standby is left for the next one. The driver's own list of hosts is not used: it reports no error
 * of connecting, so a statement would wait for ever.
 */
export class Hosts {
  readonly #all: readonly string[];
  readonly #pools = new Set<() => void>();
  #current = 0;

  constructor(addresses: readonly string[]) {
    this.#all = addresses;
  }

  get count(): number {
    return this.#all.length;
  }

  /** The address of the host that the next attempt uses. */
  get current(): string {
    return this.#all[this.#current] ?? '';
  }

  /**
   * Called when a host cannot be used. Several attempts can find out at the same time. All pools leave it together: a
   * connection that stays there could be answered by a primary that another one has replaced. `cutOff`: the host is
   * such a primary (open/fence.ts), so an address with one host may lead to another server now.
   */
  leave(address: string, cutOff = false): void {
    if (address !== this.current || (this.count === 1 && !cutOff)) return;
    this.#current = (this.#current + 1) % this.#all.length;
    for (const renew of this.#pools) renew();
  }

  /** Calls `renew` when the host is left. Returns a function that ends this. */
  follow(renew: () => void): () => void {
    this.#pools.add(renew);
    return () => void this.#pools.delete(renew);
  }
}

const KNOWN = new Map<string, Hosts>();

/** All pools of an address use the same host. */
export function hostsOf(address: string): Hosts {
  const known = KNOWN.get(address) ?? new Hosts(addressesOf(address));
  KNOWN.set(address, known);
  return known;
}
