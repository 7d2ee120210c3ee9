import { addressesOf } from '../../core/store-address.ts';

/**
 * The hosts of the store's address, of which one at a time is used: the last good one. A host that refuses, that is
 * silent, or that is a standby is left for the next one. The driver's own list of hosts is not used: it reports no error
 * of connecting, so a statement would wait for ever.
 */
export class Hosts {
  readonly #all: readonly string[];
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

  /** Called when a host cannot be used. Several attempts can find out at the same time. */
  leave(address: string): void {
    if (address === this.current) this.#current = (this.#current + 1) % this.#all.length;
  }
}

const KNOWN = new Map<string, Hosts>();

/** All pools of an address use the same host. */
export function hostsOf(address: string): Hosts {
  const known = KNOWN.get(address) ?? new Hosts(addressesOf(address));
  KNOWN.set(address, known);
  return known;
}
