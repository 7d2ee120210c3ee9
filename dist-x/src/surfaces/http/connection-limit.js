import { networkOf } from '../../flow/network.js';
/** Open connections: `inAll` in total, `perNetwork` from one client network. For a trusted proxy, only `inAll`. */
export const CONNECTIONS = { inAll: 16_384, perNetwork: 4_096 };
export class ConnectionLimit {
    #perNetwork;
    #open = new Map();
    constructor(perNetwork) {
        this.#perNetwork = perNetwork;
    }
    /**
     * Counts a connection, or a check of an upgrade. Returns a function to call at its end. Undefined if the address's
     * network is at its limit.
     */
    enter(address) {
        const network = networkOf(address);
        const open = this.#open.get(network) ?? 0;
        if (open >= this.#perNetwork)
            return undefined;
        this.#open.set(network, open + 1);
        return () => {
            const left = (this.#open.get(network) ?? 1) - 1;
            if (left > 0)
                this.#open.set(network, left);
            else
                this.#open.delete(network);
        };
    }
}
//# sourceMappingURL=connection-limit.js.map