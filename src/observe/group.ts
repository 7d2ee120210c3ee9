import type { Worker } from 'node:cluster';
import { AggregatorRegistry, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { Failure } from '../core/failures.ts';
import type { Metrics, Snapshot } from './metrics.ts';
import { sharing } from './sharing.ts';

/**
 * The metrics of `serve --workers`: whichever worker is scraped asks the supervisor, which asks them all. Each series has
 * the `worker` that it is of, the place that a replacement takes over: summed over the workers, counters would fall when
 * one is replaced, and a rate over them would leap.
 */

/** Milliseconds: a worker that does not answer is left out of one scrape, and the asker has its 503. */
const WORKER_PATIENCE = 1_000;
const SCRAPE_PATIENCE = 2_000;

type Message =
  | { readonly metrics: 'scrape' | 'collect'; readonly id: number }
  | { readonly metrics: 'collected'; readonly id: number; readonly values: Snapshot }
  | { readonly metrics: 'scraped'; readonly id: number; readonly text: string };

/** Only these processes write to the channel; node:cluster's own messages have no `metrics`. */
const messageOf = (value: unknown): Message | undefined =>
  typeof value === 'object' && value !== null && 'metrics' in value ? (value as Message) : undefined;

/** What waits for an answer under a number. */
class Waiting<T> {
  readonly #resolve = new Map<number, (value: T | undefined) => void>();
  #last = 0;

  /** The answer to what `send` has sent, or `undefined` after `patience` milliseconds. */
  ask(send: (id: number) => void, patience: number): Promise<T | undefined> {
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

  answer(id: number, value: T | undefined): void {
    this.#resolve.get(id)?.(value);
    this.#resolve.delete(id);
  }
}

/** Told of what could not be collected: a defect, that costs a scrape and no process. */
type OnError = (error: unknown) => void;

/** In a worker: answers the supervisor, and returns what gives the text of the whole group. */
export function joinGroup(metrics: Metrics, onError: OnError): () => Promise<string> {
  const scrapes = new Waiting<string>();
  const send = (message: Message): void => {
    // The supervisor may be gone: then this process is about to end.
    if (process.connected) process.send?.(message, undefined, {}, () => undefined);
  };
  process.on('message', (value) => {
    const message = messageOf(value);
    if (message?.metrics === 'scraped') scrapes.answer(message.id, message.text);
    if (message?.metrics === 'collect')
      metrics.json().then((values) => send({ metrics: 'collected', id: message.id, values }), onError);
  });
  return async () => {
    const text = await scrapes.ask((id) => send({ metrics: 'scrape', id }), SCRAPE_PATIENCE);
    if (text === undefined) throw new Failure('service_unavailable', { retryAfter: 1 });
    return text;
  };
}

/** In the supervisor: takes workers in, each with its place, and answers them. */
export function superviseGroup(onError: OnError): (worker: Worker, place: number) => void {
  const own = new Registry();
  collectDefaultMetrics({ register: own });
  const running = new Gauge({ name: 'gateway_workers', help: 'Workers that run.', registers: [own] });
  const told = new Gauge({
    name: 'gateway_workers_told',
    help: 'Workers that this scrape tells of.',
    registers: [own],
  });
  const places = new Map<Worker, number>();
  // One that starts still has nothing to tell, and nobody to hear that it is asked.
  const listening = new WeakSet<Worker>();
  const collections = new Waiting<Snapshot>();

  const collect = sharing(async () => {
    const asked = [...places]
      .filter(([worker]) => listening.has(worker))
      .map(async ([worker, place]) => {
        const ask = (id: number): void => void send(worker, { metrics: 'collect', id });
        const values = await collections.ask(ask, WORKER_PATIENCE);
        return values && labelled(values, `${place}`);
      });
    const answers = (await Promise.all(asked)).filter((values) => values !== undefined);
    running.set(places.size);
    told.set(answers.length);
    const mine = labelled(await own.getMetricsAsJSON(), 'supervisor');
    return AggregatorRegistry.aggregate([mine, ...answers]).metrics();
  });

  return (worker, place) => {
    places.set(worker, place);
    worker.once('listening', () => listening.add(worker));
    worker.once('exit', () => places.delete(worker));
    worker.on('message', (value: unknown) => {
      const message = messageOf(value);
      if (message?.metrics === 'collected') collections.answer(message.id, message.values);
      if (message?.metrics === 'scrape')
        collect().then((text) => send(worker, { metrics: 'scraped', id: message.id, text }), onError);
    });
  };
}

/** A worker that has gone meanwhile has no answer. */
const send = (worker: Worker, message: Message): void => {
  if (worker.isConnected()) worker.send(message, undefined, () => undefined);
};

/**
 * Every series under the place of its process; nothing is summed. What is no number is null on its way between processes,
 * and no scrape may have that: it is left out.
 */
export const labelled = (metrics: Snapshot, worker: string): Snapshot =>
  metrics.map((metric) => ({
    ...metric,
    aggregator: 'sum',
    values: metric.values
      .filter(({ value }) => Number.isFinite(value))
      .map((value) => ({ ...value, labels: { ...value.labels, worker } })),
  }));
