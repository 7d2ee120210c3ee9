import { networkOf } from '../../auth/network.ts';

/** Open connections: in total, and from one network. A trusted proxy may use the total. */
export const CONNECTIONS = { inAll: 16_384, perNetwork: 4_096 };

/** Counts open connections for each client network. */
export class Door {
  readonly #perNetwork: number;
  readonly #open = new Map<string, number>();

  constructor(perNetwork: number) {
    this.#perNetwork = perNetwork;
  }

  /**
   * Returns a function to call when the connection closes. Returns `undefined` if its network has reached the limit.
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
