import type { StoredAudit } from '../store/audit/records.ts';
import type { AuditRecord } from './chain.ts';

/** Buckets of durations: the first up to 1 ms, each further one sqrt(2) times as long, the last without end. */
const BUCKETS = 33;

const bucketOf = (ms: number): number => (ms <= 1 ? 0 : Math.min(BUCKETS - 1, Math.ceil(2 * Math.log2(ms))));

interface Sum {
  readonly organization_id: string;
  readonly hour: string;
  readonly app_id: string;
  readonly surface: string;
  readonly operation: string;
  readonly outcome: string;
  calls: number;
  units: number;
  readonly buckets: number[];
}

/** What a sum needs of a record or of a block. Members without a value can be null. */
type Summed = Partial<Pick<AuditRecord | StoredAudit, 'organization_id' | 'app_id' | 'surface' | 'time'>>;
type SummedCall = Partial<Pick<AuditRecord | StoredAudit, 'operation' | 'outcome' | 'units'>>;

/** The sums of records by hour, app, surface, operation and outcome, for gateway.audit_hour. */
export class Sums {
  readonly #sums = new Map<string, Sum>();

  add(
    { organization_id, app_id, surface, time = '' }: Summed,
    { operation, outcome, units }: SummedCall,
    ms: number,
  ): void {
    const hour = time.slice(0, 13);
    const key = `${organization_id} ${hour} ${app_id} ${surface} ${operation} ${outcome}`;
    let sum = this.#sums.get(key);
    if (!sum) {
      sum = {
        ...{
          organization_id: organization_id ?? '',
          hour: `${hour}:00:00Z`,
          app_id: app_id ?? '',
          surface: surface ?? '',
        },
        ...{ operation: operation ?? '', outcome: outcome ?? '', calls: 0, units: 0 },
        buckets: Array.from({ length: BUCKETS }, () => 0),
      };
      this.#sums.set(key, sum);
    }
    sum.calls++;
    sum.units += units ?? 0;
    const bucket = bucketOf(ms);
    sum.buckets[bucket] = (sum.buckets[bucket] ?? 0) + 1;
  }

  get list(): Sum[] {
    return [...this.#sums.values()];
  }
}
