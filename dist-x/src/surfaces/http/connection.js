import { Exchange } from './exchange.js';
/** Requests that may wait while another one runs. A client that pipelines more is disconnected. */
const PIPELINED = 8;
/**
 * A client's connection. It runs its requests one at a time, because Node would start all pipelined requests at once. A
 * request's exchange ends with its reply or with the socket. Node 20 and 24 emit no `close` for a response that waits
 * behind another one, so the end of the socket is checked too. A request that waits when the socket closes never
 * starts.
 */
export class Connection {
    #socket;
    #serving;
    #waiting = [];
    #current;
    #last;
    constructor(socket, serving) {
        this.#socket = socket;
        this.#serving = serving;
        socket.once('close', () => {
            this.#waiting.splice(0);
            if (this.#current)
                this.#ended(this.#current);
        });
    }
    /** Undefined while no request runs or waits. */
    get current() {
        return this.#current;
    }
    /**
     * True if the last request was answered before its body was complete. Invalid HTTP after it is the rest of the body.
     */
    get answered() {
        return this.#current === undefined && this.#last?.complete === false;
    }
    get waiting() {
        return this.#waiting.length;
    }
    add(request, response) {
        // Node can still emit requests that it had read before the connection was cut.
        if (this.#socket.destroyed)
            return;
        if (!this.#current)
            this.#begin(request, response);
        else if (this.#waiting.length < PIPELINED)
            this.#waiting.push([request, response]);
        else
            this.cut('too many requests pipelined');
    }
    /** Disconnects the client at once and frees all that the connection holds. `reason` is for the log. */
    cut(reason) {
        if (this.#current)
            this.#current.reason = reason;
        this.#socket.destroy();
        this.#waiting.splice(0);
        if (this.#current)
            this.#ended(this.#current);
    }
    /** Disconnects a client that has not read a reply completed before `since` (milliseconds of performance.now()). */
    check(since, now) {
        const current = this.#current;
        if (!current?.response.writableEnded)
            return;
        current.repliedAt ??= now;
        if (current.repliedAt < since)
            this.cut('reply not taken');
    }
    #begin(request, response) {
        const exchange = new Exchange(this.#serving, request, response);
        this.#current = exchange;
        this.#last = request;
        response.once('close', () => this.#ended(exchange));
        exchange.run();
    }
    #ended(exchange) {
        if (this.#current !== exchange)
            return;
        this.#current = undefined;
        exchange.end();
        // After a reply with `Connection: close`, the socket can send no further reply.
        const next = this.#socket.writable ? this.#waiting.shift() : undefined;
        if (next)
            this.#begin(...next);
    }
}
//# sourceMappingURL=connection.js.map