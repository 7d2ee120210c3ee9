import { randomUUID } from 'node:crypto';
import type { Keyring } from '../auth/keys.ts';
import { ServerClock } from '../flow/server-clock.ts';
import {
  type AuditBatch,
  appendAudit,
  type ChainHead,
  chainEnd,
  isBadRecord,
  isSealedElsewhere,
} from '../store/audit/append.ts';
import { readUnsealed } from '../store/audit/records.ts';
import { isUnavailable, sqlState } from '../store/driver/errors.ts';
import type { Database } from '../store/driver/postgres.ts';
import { blockOf, blockText, groupsOf, isBlock, Named, Slices } from './blocks.ts';
import { chained, START } from './chain.ts';
import { mayBeSealed } from './mark.ts';
import type { Queue } from './queue.ts';
import type { Recorder } from './recorder.ts';
import { auditMembers, auditRow, type ChainPlace } from './row.ts';
import { Sums } from './sums.ts';

export interface ChainWriterOptions {
  readonly db: Database;
  readonly keys: Keyring;
  readonly queue: Queue;
  readonly recorder: Recorder;
  /** Adds a record to the queue for each of these losses. */
  readonly recordLoss: (lost: ReturnType<Queue['takeLost']>) => void;
  readonly onError: (error: unknown) => void;
  /** Called when PostgreSQL has another end of a chain than this process has appended. */
  readonly onCut: (error: Error) => void;
}

/**
 * Records of one statement. With 1,000, made in one turn of the event loop, the p99 of reads was 8.7 ms at 11,000 reads a
 * second. With 500, made in turns (audit/blocks.ts), it is 4.8 ms, and the rate is the same.
 */
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
  readonly #options: ChainWriterOptions;
  readonly #queue: Queue;
  #name = randomUUID();
  /** By UTC day: the last record that is in PostgreSQL. */
  #ends: Ends = new Map();
  #sending: Sending | undefined;
  #most = BATCH;
  /** Seals that are sent one by one, because one of them has failed. Before them, the calls go without seals. */
  #apart = 0;
  #callsFirst = false;
  /** Of PostgreSQL. */
  readonly clock = new ServerClock(Date.now() - performance.now());
  #failingSince: number | undefined;

  constructor(options: ChainWriterOptions) {
    this.#options = options;
    this.#queue = options.queue;
  }

  get stuck(): boolean {
    return this.#failingSince !== undefined && performance.now() - this.#failingSince > PATIENCE;
  }

  /** Appends everything that waits. Throws if PostgreSQL does not take it. */
  async flush(): Promise<void> {
    while (this.#sending || this.#queue.waits) {
      try {
        this.#sending ??= await this.#next();
        if (!this.#sending) return;
        const { batch, records, seals, ends } = this.#sending;
        const sent = performance.now();
        this.clock.learn(sent, await appendAudit(this.#options.db, batch));
        for (const [day, end] of ends) this.#ends.set(day, end);
        this.#queue.remove(records);
        this.#queue.removeSeals(seals);
        this.#sending = undefined;
        this.#most = BATCH;
        if (seals.length > 0 && this.#apart > 0) this.#apart--;
        this.#callsFirst = false;
        this.#failingSince = undefined;
        // Records can be written again. Until then, losses are only counted.
        this.#options.recordLoss(this.#queue.takeLost());
      } catch (error) {
        this.#failingSince ??= performance.now();
        if (!(await this.#recover(error))) throw error;
      }
    }
  }

  /** True if the next attempt can succeed at once. PostgreSQL has undone the batch. */
  async #recover(error: unknown): Promise<boolean> {
    const sending = this.#sending;
    // The end of the batch is unknown, so the same batch is sent again.
    if (!sending || isUnavailable(error) || sqlState(error) === '') return false;
    const cut = sqlState(error) === 'GW500';
    if (cut) await this.#tellCut([...sending.ends.keys()]);
    this.#sending = undefined;
    if (sending.seals.length > 0 && (isSealedElsewhere(error) || isBadRecord(error))) this.#part(sending, error);
    else if (cut) {
      // So this process begins another chain.
      this.#name = randomUUID();
      this.#ends = new Map();
    } else if (!isBadRecord(error)) return false;
    else if (sending.records > 1) this.#most = Math.ceil(sending.records / 2);
    else for (const record of this.#queue.remove(1)) this.#queue.lose(record);
    return true;
  }

  /**
   * Tells and counts the records that PostgreSQL had taken and no longer has, for example after a failover to a standby
   * that was behind. The process does not know any more whose they were, so no record tells of them.
   */
  async #tellCut(days: readonly string[]): Promise<void> {
    const ends = await Promise.all(days.map((day) => chainEnd(this.#options.db, this.#name, day)));
    for (const [i, day] of days.entries()) {
      const none = { seq: 0, digest: '' };
      const [known, found] = [this.#ends.get(day) ?? none, ends[i] ?? none];
      if (found.seq === known.seq && found.digest === known.digest) continue;
      this.#queue.lostTotal += Math.max(0, known.seq - found.seq);
      const told = `the audit chain ${this.#name} of ${day} ends with record ${found.seq} in PostgreSQL`;
      const why = 'records are lost, as after a failover, or somebody has changed them';
      this.#options.onCut(new Error(`${told}, but this process had appended record ${known.seq}: ${why}`));
    }
  }

  /** A batch with seals has failed. The next ones have one seal each, and a seal that fails alone is set aside. */
  #part({ seals, records }: Sending, error: unknown): void {
    const [only] = seals;
    if (only !== undefined && seals.length === 1 && records === 0) {
      this.#queue.setAside(only);
      this.#apart = Math.max(0, this.#apart - 1);
      if (!isSealedElsewhere(error)) this.#options.onError(error);
    } else {
      this.#apart = seals.length;
      this.#callsFirst = true;
    }
  }

  async #next(): Promise<Sending | undefined> {
    const { db, keys, recorder, recordLoss, onError } = this.#options;
    const callsOnly = this.#callsFirst && this.#queue.size > 0;
    const sealsOnly = !callsOnly && this.#apart > 0;
    const waiting = callsOnly ? [] : this.#queue.firstSeals(sealsOnly ? 1 : BATCH);
    const unsealed = waiting.length === 0 ? [] : await readUnsealed(db, waiting);
    const written = unsealed.filter((record) => {
      if (mayBeSealed(keys, record)) return true;
      this.#queue.setAside(record.id);
      onError(new Error(`audit record ${record.id} was not made by the gateway, or with a key that is not given`));
      return false;
    });
    if (sealsOnly && written.length === 0) {
      // Another process has sealed it.
      this.#queue.removeSeals(waiting);
      this.#apart = waiting.length === 0 ? 0 : this.#apart - 1;
      return this.#next();
    }
    if (this.#queue.size === 0) recordLoss(this.#queue.takeLost());
    const calls = sealsOnly ? [] : this.#queue.first(this.#most);
    if (calls.length === 0 && written.length === 0) {
      this.#queue.removeSeals(waiting);
      return undefined;
    }
    const writer = this.#name;
    const heads = new Map<string, ChainHead>();
    const placeOf = (time: string, text: string, count = 1): ChainPlace => {
      const day = time.slice(0, 10);
      const end = heads.get(day) ?? this.#ends.get(day) ?? { seq: 0, digest: START };
      const { kid, digest } = chained(keys, end.digest, text);
      const seq = end.seq + count;
      heads.set(day, { day, before: heads.get(day)?.before ?? end.seq, seq, kid, digest });
      return { writer, seq, kid, previous: end.digest, digest };
    };
    const [records, blocks, named, sums] = [[] as string[], [] as object[], new Named(), new Sums()]; // filled below
    const slices = new Slices();
    for (const group of groupsOf(calls, this.clock.offset)) {
      const block = isBlock(group) ? await blockOf(group, recorder, sums, named, slices) : undefined;
      if (block) blocks.push({ ...block, ...placeOf(block.time, blockText(block), block.calls) });
      else
        for (const [i, call] of group.calls.entries()) {
          const record = recorder.recordOf(call, group.second + (group.ms[i] ?? 0));
          const members = auditMembers(record);
          records.push(auditRow(members, placeOf(record.time ?? '', members)));
          sums.add(record, record, record.duration_ms ?? 0);
          const turn = slices.next();
          if (turn) await turn;
        }
    }
    const seals = written.map((row) => ({ time: row.time, id: row.id, ...placeOf(row.time, auditMembers(row)) }));
    for (const row of written) sums.add(row, row, row.duration_ms);
    return {
      batch: {
        writer,
        heads: JSON.stringify([...heads.values()]),
        records: `{${records.join(',')}}`,
        blocks: JSON.stringify(blocks),
        named: JSON.stringify(named),
        seals: JSON.stringify(seals),
        sums: JSON.stringify(sums.list),
      },
      records: calls.length,
      seals: waiting,
      ends: new Map([...heads].map(([day, { seq, digest }]) => [day, { seq, digest }])),
    };
  }
}
