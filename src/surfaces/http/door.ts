import { networkOf } from '../../auth/network.ts';

/** Connections in all, and of one network. A trusted proxy in front may have all. */
export const CONNECTIONS = { inAll: 16_384, perNetwork: 4_096 };

/** Counts open connections by the network that they come from. */
export class Door {
  readonly #perNetwork: number;
  readonly #open = new Map<string, number>();

  constructor(perNetwork: number) {
    this.#perNetwork = perNetwork;
  }

  /** What to call when the connection has closed; `undefined`: its network has as many as it may have. */
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
