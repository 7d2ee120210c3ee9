import type { AuditSurface } from '../core/audit.ts';
import type { AuditRecord } from './chain.ts';

/** Records that wait in a process, about 1 KiB each. One organization can have half of them. */
const QUEUED = 10_000;
const SHARE = QUEUED / 2;
/** Records of writes that wait for their seal. Others are found by upkeep. */
const SEALS = 10_000;

interface Lost {
  readonly organization: string;
  readonly surface: AuditSurface;
  count: number;
}

/** The records of a process that are not in PostgreSQL yet, the oldest first. Counts those that have no room. */
export class Queue {
  #records: AuditRecord[] = [];
  readonly #seals = new Set<string>();
  readonly #shares = new Map<string, number>();
  #lost = new Map<string, Lost>();
  lostTotal = 0;

  get size(): number {
    return this.#records.length;
  }

  get waits(): boolean {
    return this.#records.length > 0 || this.#seals.size > 0 || this.#lost.size > 0;
  }

  /** `always`: the record tells of a loss. */
  add(record: AuditRecord, always = false): void {
    const organization = record.organization_id ?? '';
    const share = this.#shares.get(organization) ?? 0;
    if (!always && (this.#records.length >= QUEUED || share >= SHARE)) this.lose(record);
    else {
      this.#shares.set(organization, share + 1);
      this.#records.push(record);
    }
  }

  seal(id: string): void {
    if (this.#seals.size < SEALS) this.#seals.add(id);
  }

  lose({ organization_id: organization = '', surface }: AuditRecord): void {
    this.lostTotal++;
    const key = `${surface} ${organization}`;
    const known = this.#lost.get(key);
    if (known) known.count++;
    else this.#lost.set(key, { organization, surface: surface as AuditSurface, count: 1 }); // a record of this process has one
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

  /** The first `n` records, which stay in the queue. */
  first(n: number): AuditRecord[] {
    return this.#records.slice(0, n);
  }

  firstSeals(n: number): string[] {
    return [...this.#seals].slice(0, n);
  }

  /** Removes the first `n` records, which are now in PostgreSQL. */
  remove(n: number): AuditRecord[] {
    const removed = this.#records.splice(0, n);
    for (const { organization_id: organization = '' } of removed) {
      const share = (this.#shares.get(organization) ?? 1) - 1;
      if (share > 0) this.#shares.set(organization, share);
      else this.#shares.delete(organization);
    }
    return removed;
  }

  removeSeals(ids: readonly string[]): void {
    for (const id of ids) this.#seals.delete(id);
  }
}
