import type { AuditSurface, CallOrigin, CallReport } from '../core/audit.ts';

/** A call whose record is made when it is appended. */
export interface QueuedCall {
  /** performance.now() of its end. */
  readonly at: number;
  readonly ms: number;
  readonly origin: CallOrigin;
  /** Without the arguments, of which only `input` is kept. */
  readonly report: Omit<CallReport, 'input' | 'inserted'>;
  /** The canonical arguments, or `\\x…`, their digest. */
  readonly input: string | undefined;
}

/** Calls that wait in a process, of at most 2 KiB each. One organization can have half of them. */
const QUEUED = 10_000;
const SHARE = QUEUED / 2;
/** Records of writes that wait for their seal. Upkeep finds the others. */
const SEALS = 10_000;

interface Lost {
  readonly organization: string;
  readonly surface: AuditSurface;
  count: number;
}

/** The calls of a process whose records are not in PostgreSQL yet, the oldest first. Counts those that have no room. */
export class Queue {
  readonly #calls: QueuedCall[] = [];
  readonly #seals = new Set<string>();
  /** Records that this process cannot seal. */
  readonly #aside = new Set<string>();
  readonly #shares = new Map<string, number>();
  #lost = new Map<string, Lost>();
  lostTotal = 0;

  get size(): number {
    return this.#calls.length;
  }

  get waits(): boolean {
    return this.#calls.length > 0 || this.#seals.size > 0 || this.#lost.size > 0;
  }

  /** `always`: the record tells of a loss. */
  add(call: QueuedCall, always = false): void {
    const { organizationId } = call.report.actor;
    const share = this.#shares.get(organizationId) ?? 0;
    if (!always && (this.#calls.length >= QUEUED || share >= SHARE)) this.lose(call);
    else {
      this.#shares.set(organizationId, share + 1);
      this.#calls.push(call);
    }
  }

  seal(id: string): void {
    if (this.#seals.size < SEALS && !this.#aside.has(id)) this.#seals.add(id);
  }

  /** The record is not sealed by this process. */
  setAside(id: string): void {
    this.#seals.delete(id);
    if (this.#aside.size < SEALS) this.#aside.add(id);
  }

  get aside(): string[] {
    return [...this.#aside];
  }

  lose({ report, origin: { surface } }: QueuedCall): void {
    this.lostTotal++;
    const organization = report.actor.organizationId;
    const key = `${surface} ${organization}`;
    const known = this.#lost.get(key);
    if (known) known.count++;
    else this.#lost.set(key, { organization, surface, count: 1 });
  }

  lostOf(organization: string): number {
    let count = 0;
    for (const one of this.#lost.values()) if (one.organization === organization) count += one.count;
    return count;
  }

  /** Takes the counts of lost records, to record them. */
  takeLost(): Lost[] {
    if (this.#lost.size === 0) return [];
    const taken = [...this.#lost.values()];
    this.#lost = new Map();
    return taken;
  }

  /** The first `n` calls, which stay in the queue. */
  first(n: number): QueuedCall[] {
    return this.#calls.slice(0, n);
  }

  firstSeals(n: number): string[] {
    return [...this.#seals].slice(0, n);
  }

  /** Removes the first `n` calls, whose records are now in PostgreSQL. */
  remove(n: number): QueuedCall[] {
    const removed = this.#calls.splice(0, n);
    for (const { report } of removed) {
      const { organizationId } = report.actor;
      // The key stays: a Map that gains and loses keys on each call fills the old generation of V8's heap.
      this.#shares.set(organizationId, (this.#shares.get(organizationId) ?? 1) - 1);
    }
    return removed;
  }

  removeSeals(ids: readonly string[]): void {
    for (const id of ids) this.#seals.delete(id);
  }
}
