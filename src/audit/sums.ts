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

/** The sums of records by hour, app, surface, operation and outcome, for gateway.audit_hour. */
export function sumsOf(records: readonly AuditRecord[]): Sum[] {
  const sums = new Map<string, Sum>();
  for (const record of records) {
    const { organization_id = '', time = '', surface = '', operation = '', outcome = '' } = record;
    const hour = `${time.slice(0, 13)}:00:00Z`;
    const app_id = record.app_id ?? '';
    const key = `${organization_id} ${hour} ${app_id} ${surface} ${operation} ${outcome}`;
    let sum = sums.get(key);
    if (!sum) {
      const buckets = Array.from({ length: BUCKETS }, () => 0);
      sum = { organization_id, hour, app_id, surface, operation, outcome, calls: 0, units: 0, buckets };
      sums.set(key, sum);
    }
    sum.calls++;
    sum.units += record.units ?? 0;
    const bucket = bucketOf(record.duration_ms ?? 0);
    sum.buckets[bucket] = (sum.buckets[bucket] ?? 0) + 1;
  }
  return [...sums.values()];
}
