import { networkOf } from '../../auth/network.ts';

/**
 * How many connections may be open at the same time: `inAll` in total, `perNetwork` from one client network. For a
 * trusted proxy, only `inAll` applies.
 */
export const CONNECTIONS = { inAll: 16_384, perNetwork: 4_096 };

export class Door {
  readonly #perNetwork: number;
  readonly #open = new Map<string, number>();

  constructor(perNetwork: number) {
    this.#perNetwork = perNetwork;
  }

  /**
   * Counts a new connection, or a new check of an upgrade, from an address. Returns a function that the caller must
   * call when the connection or the check ends. Returns `undefined` if the network of the address is at its limit.
   */
  enter(address: string): (() => void) | undefined {
    const network = networkOf(address);
    const open = this.#open.get(network) ?? 0;
    if (open >= this.#perNetwork) return undefined;
    this.#open.set(network, open + 1);
    return () => {
      const left = (this.#open.get(network) ?? 1) - 1;
      if (left > 0) this.#open.set(network, left);
      else this.#open.delete(network);
    };
  }
}
