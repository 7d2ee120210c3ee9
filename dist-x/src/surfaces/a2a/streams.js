import { Failure } from '../../core/failures.js';
import { PeriodicJob } from '../../flow/periodic-job.js';
import { asFailure } from '../../gateway/call.js';
import { exchangeOf } from '../http/exchange.js';
import { begin } from '../http/reply.js';
export const STREAM_TYPE = 'text/event-stream';
const TIMINGS = { check: 1_000, comment: 15_000, unread: 30_000, unproved: 30_000 };
/** Open streams of one credential, of one app, and of all, in this process. */
const PER_CREDENTIAL = 20;
const PER_APP = 500;
const IN_ALL = 1_000;
/** Authorities that are checked at the same time. */
const TOGETHER = 8;
/**
 * The event streams of one process. One timer looks after all of them, and one job checks their authorities again.
 */
export class Streams {
    #corridor;
    #timings;
    #open = new Set();
    /** The number of open streams of each credential and of each app. */
    #held = new Map();
    #checks;
    #ticks;
    constructor(corridor, timings = {}) {
        this.#corridor = corridor;
        this.#timings = { ...TIMINGS, ...timings };
        const every = this.#timings.check;
        // A check can fail or hang while the store is away. Then the next round tries again, and `unproved` ends the stream.
        this.#checks = new PeriodicJob({ every, run: () => this.#check(), onError: () => undefined });
        this.#ticks = new PeriodicJob({ every, run: async () => this.#tick(), onError: () => undefined });
        this.#checks.pause();
        this.#ticks.pause();
    }
    /** Counts a stream. Throws `stream_limit` if the credential, the app or the process has too many. */
    enter({ credentialId, appId }, reader, gone) {
        const bounds = [
            [credentialId, PER_CREDENTIAL],
            [appId, PER_APP],
        ];
        const held = (holder) => this.#held.get(holder) ?? 0;
        if (this.#open.size >= IN_ALL || bounds.some(([holder, most]) => held(holder) >= most))
            throw new Failure('stream_limit', { retryAfter: 1 });
        const count = (more) => {
            for (const [holder] of bounds) {
                const now = held(holder) + more;
                if (now > 0)
                    this.#held.set(holder, now);
                else
                    this.#held.delete(holder);
            }
        };
        const stream = new Stream(reader, gone, () => {
            this.#open.delete(stream);
            count(-1);
            if (this.#open.size > 0)
                return;
            this.#checks.pause();
            this.#ticks.pause();
        });
        count(1);
        this.#open.add(stream);
        this.#checks.resume();
        this.#ticks.resume();
        return stream;
    }
    #tick() {
        const now = performance.now();
        for (const stream of this.#open) {
            if (now - stream.provedAt > this.#timings.unproved)
                stream.end();
            else
                stream.tick(now, this.#timings);
        }
    }
    async #check() {
        // Streams with the same token and address share one check.
        const alike = new Map();
        for (const stream of this.#open) {
            const key = `${stream.reader.bearer} ${stream.reader.from}`;
            alike.set(key, [...(alike.get(key) ?? []), stream]);
        }
        const waiting = [...alike.values()];
        const work = async () => {
            for (let streams = waiting.pop(); streams?.[0]; streams = waiting.pop()) {
                const { bearer, from } = streams[0].reader;
                try {
                    await this.#corridor.prove(bearer, 'a2a', from);
                    for (const stream of streams)
                        stream.provedAt = performance.now();
                }
                catch (error) {
                    const failure = asFailure(error);
                    if (failure.status === 401)
                        for (const stream of streams)
                            stream.end(failure);
                }
            }
        };
        await Promise.all(Array.from({ length: TOGETHER }, work));
    }
}
/** One open stream. It counts from the request on, before its first event. */
export class Stream {
    reader;
    provedAt = performance.now();
    /** Why the stream ended early: its authority has lapsed. */
    lapsed;
    #gone;
    #leave;
    #request;
    #response;
    #wroteAt = performance.now();
    #stuckSince;
    #closed = false;
    constructor(reader, gone, leave) {
        this.reader = reader;
        this.#gone = gone;
        this.#leave = leave;
    }
    /** Sends the head of the stream. `no-transform` and `X-Accel-Buffering` keep proxies from holding events back. */
    begin(request, response, headers) {
        if (response.destroyed || response.headersSent)
            return;
        this.#request = request;
        this.#response = response;
        begin(request, response, 200, {
            ...headers,
            'Content-Type': STREAM_TYPE,
            'Cache-Control': 'no-store, no-transform',
            'X-Accel-Buffering': 'no',
            // A stream can end because the process stops. Then its connection must not stay open.
            Connection: 'close',
        });
    }
    /** Writes an event. Resolves when the reader can take the next one, or is gone. */
    async write(event) {
        const response = this.#response;
        if (!response || response.destroyed)
            return;
        const text = `data: ${JSON.stringify(event)}\n\n`;
        if (this.#request)
            exchangeOf(this.#request)?.hold(Buffer.byteLength(text));
        this.#wroteAt = performance.now();
        if (response.write(text) || this.#gone.signal.aborted)
            return;
        await new Promise((resolve) => {
            response.once('drain', resolve);
            this.#gone.signal.addEventListener('abort', () => resolve(), { once: true });
        });
    }
    tick(now, { comment, unread }) {
        const response = this.#response;
        // A write after the end would be an error that nobody handles.
        if (!response || response.destroyed || response.writableEnded)
            return;
        if (response.writableNeedDrain) {
            this.#stuckSince ??= now;
            if (now - this.#stuckSince > unread)
                response.destroy();
            return;
        }
        this.#stuckSince = undefined;
        if (now - this.#wroteAt < comment)
            return;
        this.#wroteAt = now;
        response.write(':\n\n');
    }
    /** Ends the events. The surface then closes the stream, with an error as its last event if the authority has lapsed. */
    end(lapsed) {
        this.lapsed ??= lapsed;
        this.#gone.abort();
    }
    /** Closes the stream and frees its place. A second call does nothing. */
    close() {
        if (this.#closed)
            return;
        this.#closed = true;
        this.#leave();
        if (this.#response?.destroyed === false)
            this.#response.end();
    }
}
//# sourceMappingURL=streams.js.map