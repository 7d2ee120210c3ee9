/** Frames of one client, with pings and pongs (WS-04): BURST at once, and RATE a second over a longer time. */
const BURST = 100;
const RATE = 20;
export class Allowance {
    #left = BURST;
    #at = performance.now();
    /** Takes one token from the client's bucket. False if the bucket is empty. */
    spend() {
        const now = performance.now();
        this.#left = Math.min(BURST, this.#left + ((now - this.#at) / 1000) * RATE) - 1;
        this.#at = now;
        return this.#left >= 0;
    }
}
//# sourceMappingURL=allowance.js.map