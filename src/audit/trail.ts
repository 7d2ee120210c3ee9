import { randomUUID } from 'node:crypto';
import { stringify } from 'safe-stable-stringify';
import type { Keyring } from '../auth/keys.ts';
import type { AuditDraft, Books, CallOrigin, CallReport } from '../core/audit.ts';
import { PeriodicJob } from '../flow/periodic-job.ts';
import { dropAudit, prepareAudit } from '../store/audit/append.ts';
import { findUnsealed } from '../store/audit/records.ts';
import type { Database } from '../store/driver/postgres.ts';
import { recordedAddress } from './address.ts';
import type { AuditRecord } from './chain.ts';
import { Queue } from './queue.ts';
import { ChainWriter } from './writer.ts';

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
/** Seconds after which any process seals the record of a write. Its own process does so within a second. */
const ABANDONED = 10;
const ADOPTED = 500;
/** Milliseconds that a stop may take. */
const STOP = 2_500;
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
  /** The last address and what records say of it, because callers come in rows. */
  #address: readonly [string, string | undefined] = ['', undefined];

  constructor(options: TrailOptions) {
    this.#options = options;
    const { db, keys } = options;
    let told = Number.NEGATIVE_INFINITY;
    const onError = (error: unknown): void => {
      if (performance.now() - told < QUIET) return;
      told = performance.now();
      options.onError(error);
    };
    this.#writer = new ChainWriter(db, keys, this.#queue, (lost) => this.#recordLoss(lost));
    this.#flush = new PeriodicJob({ every: EVERY, run: () => this.#writer.flush(), onError });
    this.#upkeep = new PeriodicJob({ every: UPKEEP, run: () => this.#round(), onError });
  }

  /** Prepares the partitions and reads PostgreSQL's clock. */
  async start(): Promise<void> {
    this.#writer.learn(await prepareAudit(this.#options.db, AHEAD));
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
    else this.#queue.add(this.#recordOf(origin, report, ms, this.#writer.time()));
  }

  draft(origin: CallOrigin, report: CallReport, ms: number): AuditDraft {
    const { time: _, ...members } = this.#recordOf(origin, report, ms, undefined);
    return { id: members.id ?? '', members, inserted: false };
  }

  /** Appends what waits, for at most 2.5 s. */
  async stop(): Promise<void> {
    await Promise.all([this.#flush.stop(), this.#upkeep.stop()]);
    const until = performance.now() + STOP;
    while (this.#queue.waits && performance.now() < until) {
      await this.#writer.flush().catch(this.#options.onError);
      if (this.#writer.stuck) break;
    }
  }

  async #round(): Promise<void> {
    const { upkeep, days } = this.#options;
    await prepareAudit(upkeep, AHEAD);
    await dropAudit(upkeep, days);
    for (const id of await findUnsealed(upkeep, ABANDONED, ADOPTED)) this.#queue.seal(id);
  }

  #recordLoss(lost: readonly { organization: string; surface: CallOrigin['surface']; count: number }[]): void {
    for (const { organization, surface, count } of lost) {
      const origin = { requestId: '', surface, from: '' };
      const report = {
        actor: { organizationId: organization },
        operation: 'lost',
        targets: [],
        count,
        ...({ outcome: 'service_unavailable', status: 503, units: 0 } as const), // as a read of these calls would fail
      };
      this.#queue.add(this.#recordOf(origin, report, 0, this.#writer.time()), true);
    }
  }

  /** The members have the order of the columns (chain.ts). */
  #recordOf(origin: CallOrigin, report: CallReport, ms: number, time: string | undefined): AuditRecord {
    const { actor, input } = report;
    const { requestId, from, client } = origin;
    if (from !== this.#address[0]) this.#address = [from, recordedAddress(from, this.#options.fullAddresses)];
    return {
      time,
      id: randomUUID(),
      organization_id: actor.organizationId,
      website_id: report.websiteId,
      app_id: actor.appId,
      installation_id: actor.installationId,
      credential_id: actor.credentialId,
      person_id: actor.personId,
      client_name: client?.name,
      client_version: client?.version,
      address: this.#address[1],
      surface: origin.surface,
      operation: report.operation,
      targets: report.targets,
      count: report.count,
      outcome: report.outcome,
      status: report.status,
      units: report.units,
      duration_ms: ms >= 100_000 ? Math.round(ms) : Math.round(ms * 10) / 10,
      request_id: requestId === '' ? undefined : requestId,
      trace_id: origin.traceId,
      input_digest: input && this.#digestOf(input),
      operation_id: report.operationId,
      replayed: report.replayed === true,
    };
  }

  /** A keyed digest, because short arguments could be guessed from a plain one. */
  #digestOf(input: Readonly<Record<string, unknown>>): string {
    return `\\x${this.#options.keys.sign('audit input', stringify(input) ?? '').mac.toString('hex')}`;
  }
}
