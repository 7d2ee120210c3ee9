/** Whether a client is alive: by the time of its last frame and by its answers to pings. */
export class Pulse {
    #heardAt = performance.now();
    #pingedAt = performance.now();
    #owed = false;
    heard() {
        this.#heardAt = performance.now();
    }
    /** True if the pong answers a ping of the gateway. Each ping has one answer. */
    answered() {
        const owed = this.#owed;
        this.#owed = false;
        return owed;
    }
    due(now, { silence, heartbeat }) {
        if (now - this.#heardAt > silence)
            return 'cut';
        if (now - this.#pingedAt < heartbeat)
            return undefined;
        this.#pingedAt = now;
        this.#owed = true;
        return 'ping';
    }
}
//# sourceMappingURL=pulse.js.map