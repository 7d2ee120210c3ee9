import { Failure } from '../../core/failures.js';
const MIB = 1024 * 1024;
/**
 * Bytes that callers may hold in this process at the same time: `inAll` together, `share` each. The largest reply is an
 * MCP page of about 7 MiB, the largest request body has 64 KiB.
 */
export const BUDGETS = {
    unread: { inAll: 64 * MIB, share: 16 * MIB },
    bodies: { inAll: 64 * MIB, share: 16 * MIB },
    sockets: { inAll: 256 * MIB, share: 16 * MIB },
};
/** Counts the bytes that callers hold in this process. Each has a limit, so that none can use up everything. */
export class Budget {
    #options;
    #shares = new Map();
    #inAll = 0;
    constructor(options) {
        this.#options = options;
    }
    get bytes() {
        return this.#inAll;
    }
    room(share) {
        if ((this.#shares.get(share) ?? 0) >= this.#options.limits.share)
            throw this.#refusal();
    }
    /** Counts bytes for a caller. Throws and counts nothing if a limit would be exceeded. */
    hold(share, bytes) {
        const { limits, makeRoom } = this.#options;
        const own = this.#shares.get(share) ?? 0;
        // A caller that holds nothing may hold one item of any size.
        if (own > 0 && own + bytes > limits.share)
            throw this.#refusal();
        while (this.#inAll > 0 && this.#inAll + bytes > limits.inAll) {
            if (makeRoom?.(this.#largest()) !== true)
                throw new Failure('service_unavailable', { retryAfter: 1 });
        }
        this.count(share, bytes);
    }
    /** Counts bytes that the gateway can no longer refuse, even beyond the limits. */
    count(share, bytes) {
        this.#shares.set(share, (this.#shares.get(share) ?? 0) + bytes);
        this.#inAll += bytes;
    }
    release(share, bytes) {
        const left = (this.#shares.get(share) ?? 0) - bytes;
        if (left > 0)
            this.#shares.set(share, left);
        else
            this.#shares.delete(share);
        this.#inAll -= bytes;
    }
    #refusal() {
        return new Failure(this.#options.code, { retryAfter: 1 });
    }
    #largest() {
        let largest = ['', 0];
        for (const share of this.#shares)
            if (share[1] > largest[1])
                largest = share;
        return largest[0];
    }
}
//# sourceMappingURL=budget.js.map