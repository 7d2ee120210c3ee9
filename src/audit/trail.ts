import { stringify } from 'safe-stable-stringify';
import type { Keyring } from '../auth/keys.ts';
import type { AuditDraft, Books, CallOrigin, CallReport } from '../core/audit.ts';
import { PeriodicJob } from '../flow/periodic-job.ts';
import { seldom } from '../flow/seldom.ts';
import { allSteps } from '../flow/steps.ts';
import { clearAudit, dropAudit, prepareAudit } from '../store/audit/append.ts';
import { findUnsealed } from '../store/audit/records.ts';
import type { Database } from '../store/driver/postgres.ts';
import { markOf } from './mark.ts';
import { Queue, type QueuedCall } from './queue.ts';
import { Recorder } from './recorder.ts';
import { ChainWriter, type ChainWriterOptions } from './writer.ts';

export interface TrailOptions {
  /** A connection of its own, so that records never wait for other work. */
  readonly db: Database;
  /** Connections for upkeep. */
  readonly upkeep: Database;
  readonly keys: Keyring;
  /** True: records hold the client's whole address. */
  readonly fullAddresses: boolean;
  /** Days for which records are kept. */
  readonly days: number;
  readonly onError: (error: unknown) => void;
}

/** Milliseconds between two statements that append records. A record is visible within a second. */
const EVERY = 200;
/** Days whose partitions are prepared. */
const AHEAD = 7;
/** Milliseconds between two rounds of upkeep. */
const UPKEEP = 5_000;
/** Milliseconds between two attempts to drop a day, because all inserts wait for each attempt. */
const DROPS = 60_000;
/** Sums of dropped days that one statement deletes. */
const SUMS = 10_000;
/** Seconds after which any process seals the record of a write. Its own process does so within a second. */
const ABANDONED = 10;
const ADOPTED = 500;
/** Milliseconds that a stop may take. */
const STOP = 2_500;
/** The longest text of arguments that waits in memory. Of longer ones only the digest does. */
const SHORT = 512;
/** Milliseconds between two reports of errors. */
const QUIET = 10_000;

/**
 * The audit records of one process. A call only adds its report to a queue. A periodic job makes the records, links them
 * to the process's chain, and appends them, many in one statement.
 */
export class Trail implements Books {
  readonly #options: TrailOptions;
  readonly #queue = new Queue();
  readonly #writer: ChainWriter;
  readonly #flush: PeriodicJob;
  readonly #upkeep: PeriodicJob;
  readonly #recorder: Recorder;
  #dropped = Number.NEGATIVE_INFINITY;

  constructor(options: TrailOptions) {
    this.#options = options;
    const { db, keys } = options;
    const onError = seldom(QUIET, options.onError);
    this.#recorder = new Recorder(keys, options.fullAddresses);
    const recordLoss: ChainWriterOptions['recordLoss'] = (lost) => this.#recordLoss(lost);
    this.#writer = new ChainWriter({
      ...{ db, keys, queue: this.#queue, recorder: this.#recorder, recordLoss, onError },
      // A failover brings other errors just before.
      onCut: options.onError,
    });
    this.#flush = new PeriodicJob({ every: EVERY, run: () => this.#writer.flush(), onError });
    this.#upkeep = new PeriodicJob({ every: UPKEEP, run: (stop) => this.#round(stop), onError });
  }

  /** Prepares the partitions and reads PostgreSQL's clock. */
  async start(): Promise<void> {
    const sent = performance.now();
    this.#writer.clock.learn(sent, await prepareAudit(this.#options.db, AHEAD));
  }

  /** Records that were lost in this process. */
  get lostTotal(): number {
    return this.#queue.lostTotal;
  }

  get queued(): number {
    return this.#queue.size;
  }

  get stuck(): boolean {
    return this.#writer.stuck;
  }

  lost(organizationId: string): number {
    return this.#queue.lostOf(organizationId);
  }

  add(origin: CallOrigin, report: CallReport, ms: number): void {
    if (report.inserted !== undefined) this.#queue.seal(report.inserted);
    else this.#queue.add(this.#queued(origin, report, ms));
  }

  draft(origin: CallOrigin, report: CallReport, ms: number): AuditDraft {
    const record = this.#recorder.recordOf(this.#queued(origin, report, ms), undefined);
    return { id: record.id ?? '', members: { ...record, mark: markOf(this.#options.keys, record) }, inserted: false };
  }

  /** Appends what waits, for at most 2.5 s. Then waits for upkeep. */
  async stop(): Promise<void> {
    // The records do not wait for upkeep, because one of its statements can take longer than STOP.
    const ended = this.#upkeep.stop();
    await this.#flush.stop();
    const until = performance.now() + STOP;
    while (this.#queue.waits && performance.now() < until) {
      await this.#writer.flush().catch(this.#options.onError);
      if (this.#writer.stuck) break;
    }
    if (this.#queue.size > 0) {
      this.#options.onError(new Error(`the process ends, and ${this.#queue.size} audit records are lost`));
    }
    await ended;
  }

  async #round(stop: AbortSignal): Promise<void> {
    const { upkeep, days } = this.#options;
    const drops = performance.now() - this.#dropped > DROPS;
    if (drops) this.#dropped = performance.now();
    await allSteps(
      [
        () => prepareAudit(upkeep, AHEAD),
        async () => {
          if (drops) await dropAudit(upkeep, days);
        },
        // In statements of their own, because writes wait while a day is dropped.
        async () => {
          for (let n = SUMS; drops && n >= SUMS && !stop.aborted; ) n = await clearAudit(upkeep, days, SUMS);
        },
        async () => {
          const ids = await findUnsealed(upkeep, ABANDONED, ADOPTED, this.#queue.aside);
          if (!stop.aborted) for (const id of ids) this.#queue.seal(id);
        },
      ],
      stop,
    );
  }

  #recordLoss(lost: readonly { organization: string; surface: CallOrigin['surface']; count: number }[]): void {
    for (const { organization, surface, count } of lost) {
      const report = {
        ...{ actor: { organizationId: organization }, operation: 'lost', targets: [], count },
        ...{ outcome: 'service_unavailable', status: 503, units: 0 },
      };
      this.#queue.add(this.#queued({ requestId: '', surface, from: '' }, report, 0), true);
    }
  }

  /** The arguments stay in memory only as a short text or a digest. */
  #queued(origin: CallOrigin, report: CallReport, ms: number): QueuedCall {
    const { actor, operation, websiteId, targets, count, outcome, status, units, input, operationId, replayed } =
      report;
    const text = input && (stringify(input) ?? '');
    const kept = text === undefined || text.length <= SHORT ? text : this.#recorder.digestOf(text);
    const told = { actor, operation, websiteId, targets, count, outcome, status, units, operationId, replayed };
    return { at: performance.now(), ms, origin, report: told, input: kept };
  }
}
