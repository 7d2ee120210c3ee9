import { connect } from 'node:net';
/**
 * How many connections all pools of a store try to open in WINDOW milliseconds. An attempt whose connection has
 * answered a statement does not count, so a healthy server causes no wait. Without this limit, a proxy without a server
 * got 5,600 connections a second from one process (24 November 2026).
 */
const ATTEMPTS = 20;
/** Longer than a second, because attempts of two windows can reach the server closer together than they started. */
const WINDOW = 1_200;
/** Milliseconds until a silent connection sends its first keep-alive probe, as in the driver. */
export const KEEP_ALIVE = 60_000;
/** Milliseconds in which a server can close a connection that has ended. */
const HANG_UP = 1_000;
export class Attempts {
    /** Attempts of the last WINDOW that have no answer yet, oldest first. */
    #moments = [];
    #waiting = new Set();
    /** Milliseconds until the next attempt may start, or 0. Calls `freed` if it may start earlier. */
    wait(freed) {
        const now = performance.now();
        this.#moments = this.#moments.filter(({ at }) => now - at < WINDOW);
        const [oldest] = this.#moments;
        if (!oldest || this.#moments.length < ATTEMPTS)
            return 0;
        if (freed)
            this.#waiting.add(freed);
        return oldest.at + WINDOW - now;
    }
    /**
     * Counts an attempt at once. The driver connects later, and other pools must see the attempt before that.
     *
     * A proxy without a server closes each connection before it is ready. The driver then connects again at once, for
     * ever, and reports no error. So the second attempt without an answer fails as refused.
     *
     * `leave` is called if the server is not to be used, or if it has answered nothing on this connection.
     */
    dial(open = toHost, leave = () => undefined) {
        let attempt = this.#counted();
        let begun = false;
        let opened;
        return {
            socket: (leads) => {
                if (begun)
                    throw refused();
                begun = true;
                attempt ??= this.#counted();
                opened = open(leads);
                return opened;
            },
            answered: () => {
                if (!attempt)
                    return;
                this.#moments = this.#moments.filter((one) => one !== attempt);
                attempt = undefined;
                begun = false;
                const freed = [...this.#waiting];
                this.#waiting.clear();
                for (const next of freed)
                    next();
            },
            left: (why) => {
                if (why || attempt)
                    leave(why === 'cut off');
            },
            hangUp: () => void setTimeout(() => opened?.destroy(), HANG_UP).unref(),
        };
    }
    #counted() {
        const attempt = { at: performance.now() };
        this.#moments.push(attempt);
        return attempt;
    }
}
/** Opens a socket to the host of the address. */
const toHost = ({ host: [host], port: [port = 5432], path }) => {
    const socket = path ? connect(path) : connect({ host, port });
    socket.once('connect', () => socket.setKeepAlive(true, KEEP_ALIVE));
    // The driver reads `host` for TLS, and `host` and `port` for its error messages.
    return Object.assign(socket, { host, port });
};
/** The attempts of all pools of the gateway's own store. */
export const OF_THE_STORE = new Attempts();
const refused = () => Object.assign(new Error('the server closes new connections'), { code: 'ECONNREFUSED' });
//# sourceMappingURL=attempts.js.map