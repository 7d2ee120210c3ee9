import { networkOf } from '../../flow/network.js';
import { auditSurface, endOf, productOf } from './audited.js';
import { endedCall, newRequestId, since } from './records.js';
/** A smaller reply does not count as unread. The kernel can buffer it whole, and a connection sends one at a time. */
const SMALL = 16 * 1024;
const EXCHANGE = Symbol('exchange');
export const exchangeOf = (request) => request[EXCHANGE];
export const contextOf = (request) => request[EXCHANGE] ?? { requestId: '', record: {} };
/**
 * One request and its reply. At its end, it frees all that it holds, and writes to the log, the metrics and the trace.
 */
export class Exchange {
    requestId = newRequestId();
    record = {};
    request;
    response;
    /** The reply to a request that was refused before its body was complete. */
    cut;
    /** For the log: why the server disconnected a client that had not read its whole reply. */
    reason;
    /** When a check first found that the socket had taken the whole reply (performance.now()). */
    repliedAt;
    /**
     * The unread bytes of this reply. `share`: the caller for whom they count. `since`: the start (performance.now()).
     */
    held;
    /** The client as its protocol names it. Otherwise its User-Agent counts. */
    client;
    #body = 0;
    #reports;
    #owed = 0;
    #serving;
    #from;
    #trace;
    #began = performance.now();
    #work = false;
    #over = false;
    constructor(serving, request, response) {
        this.#serving = serving;
        this.request = request;
        this.response = response;
        this.#from = serving.from(request);
        this.#trace = serving.trace(request);
        request[EXCHANGE] = this;
    }
    run() {
        const { request, response } = this;
        const answer = () => {
            this.#work = this.#serving.answer(request, response, this);
        };
        if (this.#trace)
            this.#trace.run(answer);
        else
            answer();
    }
    /** Puts this call into the trace of a `traceparent` from the body, unless a trusted proxy has sent one. */
    follow(traceparent) {
        this.#trace?.follow(traceparent);
    }
    /** The headers of every reply. */
    get headers() {
        return Object.assign({}, this.#serving.headers, { 'X-Request-Id': this.requestId });
    }
    get from() {
        return this.#from();
    }
    get audited() {
        return this.#serving.books && this;
    }
    get origin() {
        const { requestId, record, request } = this;
        const client = this.client ?? productOf(request.headers['user-agent']);
        return { requestId, surface: auditSurface(record.surface), from: this.#from(), client, traceId: this.#trace?.id };
    }
    get ms() {
        return performance.now() - this.#began;
    }
    report(report) {
        this.#reports ??= [];
        this.#reports.push(report);
    }
    owe(units) {
        this.#owed += units;
    }
    /** True if the client has its answer or is gone. Node does not report every disconnect (see connection.ts). */
    get done() {
        return this.#over || this.cut !== undefined || this.response.headersSent || this.response.destroyed;
    }
    /** Throws `answers_unread` if the app has too many unread bytes. Call it before the request costs or changes data. */
    room(app) {
        this.#serving.unread.room(app);
    }
    /**
     * Counts a reply of `bytes` bytes as unread until the exchange ends. A second call adds only the difference. Throws
     * `answers_unread` or `service_unavailable` if too many bytes are unread, but never for a request that may have
     * changed something.
     */
    hold(bytes) {
        const more = bytes - (this.held?.bytes ?? 0);
        if (bytes <= SMALL || more <= 0 || this.#over)
            return;
        const { unread } = this.#serving;
        const share = this.held?.share ?? this.record.app ?? networkOf(this.from);
        if (this.record.effect)
            unread.count(share, more);
        else
            unread.hold(share, more);
        if (this.held)
            this.held.bytes = bytes;
        else
            this.held = { share, bytes, since: performance.now() };
    }
    /** Counts received body bytes. Throws `service_unavailable` if the client's network sends too many at once. */
    receive(bytes) {
        if (this.#over)
            return;
        this.#serving.bodies.hold(networkOf(this.from), bytes);
        this.#body += bytes;
    }
    /** The client has read the reply or has disconnected. A second call does nothing. */
    end() {
        if (this.#over)
            return;
        this.#over = true;
        if (this.held)
            this.#serving.unread.release(this.held.share, this.held.bytes);
        if (this.#body > 0)
            this.#serving.bodies.release(networkOf(this.from), this.#body);
        const { request, response, requestId, record, cut } = this;
        const { tell, observer } = this.#serving;
        const ms = since(this.#began);
        const unfinished = !response.writableFinished;
        const reason = cut?.reason ?? this.reason;
        const book = () => {
            if (cut)
                record.code = cut.code;
            const entry = {
                request_id: requestId,
                method: request.method,
                operation: record.operation ?? 'none',
                ...(record.path !== undefined && { path: record.path }),
                status: cut?.status ?? response.statusCode,
                ms,
                ...(reason !== undefined && { reason }),
                ...(unfinished && { unfinished }),
            };
            tell(entry, record, this.#from);
            const call = endedCall(entry, record, unfinished);
            observer?.ended(call);
            this.#keep(ms, entry.status, unfinished);
            this.#trace?.end(call);
        };
        // A request may still be running after its client disconnects. Log it when it ends, because the caller and the
        // outcome are known only then.
        if (unfinished && typeof this.#work === 'object')
            void this.#work.then(book, book);
        else
            book();
    }
    /** Makes the audit records of the calls. */
    #keep(ms, status, unfinished) {
        const { books } = this.#serving;
        if (!books || !this.#reports)
            return;
        const { origin, record } = this;
        const last = this.#reports.length - 1;
        this.#reports.forEach((report, i) => {
            const units = report.units + (i === last ? this.#owed : 0);
            books.add(origin, { ...report, ...endOf(report, { record, status, unfinished }), units }, ms);
        });
    }
}
//# sourceMappingURL=exchange.js.map