import { randomUUID } from 'node:crypto';
import type { Keyring } from '../auth/keys.ts';
import { type AuditBatch, appendAudit, type ChainHead, isBadRecord, isSealedElsewhere } from '../store/audit/append.ts';
import { readUnsealed } from '../store/audit/records.ts';
import { isUnavailable, sqlState } from '../store/driver/errors.ts';
import type { Database } from '../store/driver/postgres.ts';
import { auditText, chained, START } from './chain.ts';
import type { Queue } from './queue.ts';
import { sumsOf } from './sums.ts';

/** Records of one statement. Making them holds the event loop for about 5 ms. */
const BATCH = 500;
/** Milliseconds without success after which records count as stuck. */
const PATIENCE = 2_000;

type Ends = Map<string, { seq: number; digest: string }>;

/** A batch that is sent until its end is known. */
interface Sending {
  readonly batch: AuditBatch;
  readonly records: number;
  readonly seals: readonly string[];
  readonly ends: Ends;
}

/**
 * Appends the records of a queue to the chain of this process. One chain has the records of one UTC day. After a lost
 * reply the same batch is sent again. PostgreSQL then finds the end of the chain in place and appends nothing.
 */
export class ChainWriter {
  readonly #db: Database;
  readonly #keys: Keyring;
  readonly #queue: Queue;
  readonly #recordLoss: (lost: ReturnType<Queue['takeLost']>) => void;
  #name = randomUUID();
  /** By UTC day: the last record that is in PostgreSQL. */
  #ends: Ends = new Map();
  #sending: Sending | undefined;
  #most = BATCH;
  /** PostgreSQL's time minus performance.now(), in milliseconds. */
  #offset = Date.now() - performance.now();
  #failingSince: number | undefined;

  constructor(db: Database, keys: Keyring, queue: Queue, recordLoss: (lost: ReturnType<Queue['takeLost']>) => void) {
    this.#db = db;
    this.#keys = keys;
    this.#queue = queue;
    this.#recordLoss = recordLoss;
  }

  get stuck(): boolean {
    return this.#failingSince !== undefined && performance.now() - this.#failingSince > PATIENCE;
  }

  learn(now: number): void {
    this.#offset = now - performance.now();
  }

  /** The time by PostgreSQL's clock, in whole milliseconds. */
  time(): string {
    return new Date(Math.floor(this.#offset + performance.now())).toISOString();
  }

  /** Appends everything that waits. Throws if PostgreSQL does not take it. */
  async flush(): Promise<void> {
    while (this.#sending || this.#queue.waits) {
      try {
        this.#sending ??= await this.#next();
        if (!this.#sending) return;
        const { batch, records, seals, ends } = this.#sending;
        this.learn(await appendAudit(this.#db, batch));
        for (const [day, end] of ends) this.#ends.set(day, end);
        this.#queue.remove(records);
        this.#queue.removeSeals(seals);
        this.#sending = undefined;
        this.#most = BATCH;
        this.#failingSince = undefined;
      } catch (error) {
        this.#failingSince ??= performance.now();
        if (!this.#recover(error)) throw error;
      }
    }
  }

  /** True if the next attempt can succeed at once. PostgreSQL has undone the batch. */
  #recover(error: unknown): boolean {
    const sending = this.#sending;
    // The end of the batch is unknown, so the same batch is sent again.
    if (!sending || isUnavailable(error) || sqlState(error) === '') return false;
    this.#sending = undefined;
    if (isSealedElsewhere(error)) this.#queue.removeSeals(sending.seals);
    else if (sqlState(error) === 'GW500') {
      // PostgreSQL has forgotten the end of the chain, for example after a failover. So this process begins another one.
      this.#name = randomUUID();
      this.#ends = new Map();
    } else if (!isBadRecord(error)) return false;
    else if (sending.records > 1) this.#most = Math.ceil(sending.records / 2);
    else for (const record of this.#queue.remove(1)) this.#queue.lose(record);
    return true;
  }

  async #next(): Promise<Sending | undefined> {
    const waiting = this.#queue.firstSeals(BATCH);
    const written = waiting.length === 0 ? [] : await readUnsealed(this.#db, waiting);
    this.#recordLoss(this.#queue.takeLost());
    const queued = this.#queue.first(this.#most);
    if (queued.length === 0 && written.length === 0) {
      this.#queue.removeSeals(waiting);
      return undefined;
    }
    const heads = new Map<string, ChainHead>();
    const places = [...queued, ...written].map((record) => {
      const day = record.time?.slice(0, 10) ?? '';
      const end = heads.get(day) ?? this.#ends.get(day) ?? { seq: 0, digest: START };
      const text = auditText(record);
      const { kid, digest } = chained(this.#keys, end.digest, text);
      const before = heads.get(day)?.before ?? end.seq;
      heads.set(day, { day, before, seq: end.seq + 1, kid, digest });
      return { record, text, place: { seq: end.seq + 1, kid, previous: end.digest, digest } };
    });
    const own = places.slice(0, queued.length);
    const seals = places.slice(queued.length);
    const writer = this.#name;
    return {
      batch: {
        writer,
        heads: JSON.stringify([...heads.values()]),
        // The text that the digest covers is sent as it is, with the place after it.
        records: `[${own
          .map(({ text, place }) => `${text.slice(0, -1)},"writer":"${writer}",${JSON.stringify(place).slice(1)}`)
          .join(',')}]`,
        seals: JSON.stringify(seals.map(({ record: { time, id }, place }) => ({ time, id, ...place }))),
        sums: JSON.stringify(sumsOf(places.map(({ record }) => record))),
      },
      records: queued.length,
      seals: waiting,
      ends: new Map([...heads].map(([day, { seq, digest }]) => [day, { seq, digest }])),
    };
  }
}
