import { AggregatorRegistry, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { Failure } from '../core/failures.js';
import { sharing } from './sharing.js';
/**
 * The metrics of `serve --workers`. A scrape can reach any worker. This worker asks the supervisor, and the supervisor
 * asks all workers.
 *
 * Each series has the label `worker` with the number of the worker's slot. A replacement takes over the slot. Series
 * are not summed, because a sum of counters would fall when a worker is replaced. The rate of such a sum would show a
 * spike.
 */
/** How long (ms) a scrape waits. It leaves out a worker that is too slow. A slow supervisor makes it answer 503. */
const WORKER_PATIENCE = 1_000;
const SCRAPE_PATIENCE = 2_000;
/** Returns the value if it is a message about metrics. No other message on this channel has a member `metrics`. */
const messageOf = (value) => typeof value === 'object' && value !== null && 'metrics' in value ? value : undefined;
class PendingRequests {
    #resolve = new Map();
    #last = 0;
    /** Sends a request. Resolves with the answer, or with `undefined` after `patience` milliseconds. */
    ask(send, patience) {
        const id = ++this.#last;
        return new Promise((resolve) => {
            const timer = setTimeout(() => this.answer(id, undefined), patience);
            this.#resolve.set(id, (value) => {
                clearTimeout(timer);
                resolve(value);
            });
            send(id);
        });
    }
    answer(id, value) {
        this.#resolve.get(id)?.(value);
        this.#resolve.delete(id);
    }
}
/** For a worker: answers the supervisor's requests, and returns a function that reads the metrics of all workers. */
export function joinGroup(metrics, onError) {
    const scrapes = new PendingRequests();
    const send = (message) => {
        // A worker that has lost its supervisor is about to end, so it sends nothing.
        if (process.connected)
            process.send?.(message, undefined, {}, () => undefined);
    };
    process.on('message', (value) => {
        const message = messageOf(value);
        if (message?.metrics === 'scraped')
            scrapes.answer(message.id, message.text);
        if (message?.metrics === 'collect')
            metrics.json().then((values) => send({ metrics: 'collected', id: message.id, values }), onError);
    });
    return async () => {
        const text = await scrapes.ask((id) => send({ metrics: 'scrape', id }), SCRAPE_PATIENCE);
        if (text === undefined)
            throw new Failure('service_unavailable', { retryAfter: 1 });
        return text;
    };
}
export function superviseGroup(onError) {
    const own = new Registry();
    collectDefaultMetrics({ register: own });
    const running = new Gauge({ name: 'gateway_workers', help: 'Running workers.', registers: [own] });
    const told = new Gauge({
        name: 'gateway_workers_told',
        help: 'Workers whose metrics this scrape contains.',
        registers: [own],
    });
    const workers = new Map();
    // A worker that is still starting cannot answer, so the supervisor does not ask it.
    const listening = new WeakSet();
    const collections = new PendingRequests();
    const collect = sharing(async () => {
        const asked = [...workers]
            .filter(([worker]) => listening.has(worker))
            .map(async ([worker, number]) => {
            const ask = (id) => void send(worker, { metrics: 'collect', id });
            const values = await collections.ask(ask, WORKER_PATIENCE);
            return values && labelled(values, `${number}`);
        });
        const answers = (await Promise.all(asked)).filter((values) => values !== undefined);
        running.set(workers.size);
        told.set(answers.length);
        const mine = labelled(await own.getMetricsAsJSON(), 'supervisor');
        return AggregatorRegistry.aggregate([mine, ...answers]).metrics();
    });
    return (worker, number) => {
        workers.set(worker, number);
        worker.once('listening', () => listening.add(worker));
        worker.once('exit', () => workers.delete(worker));
        worker.on('message', (value) => {
            const message = messageOf(value);
            if (message?.metrics === 'collected')
                collections.answer(message.id, message.values);
            if (message?.metrics === 'scrape')
                collect().then((text) => send(worker, { metrics: 'scraped', id: message.id, text }), onError);
        });
    };
}
const send = (worker, message) => {
    if (worker.isConnected())
        worker.send(message, undefined, () => undefined);
};
/**
 * Adds the label `worker` to every series. Leaves out NaN and infinity: they arrive as null from another process, and
 * null breaks the scrape.
 */
export const labelled = (metrics, worker) => metrics.map((metric) => ({
    ...metric,
    aggregator: 'sum',
    values: metric.values
        .filter(({ value }) => Number.isFinite(value))
        .map((value) => ({ ...value, labels: { ...value.labels, worker } })),
}));
//# sourceMappingURL=group.js.map