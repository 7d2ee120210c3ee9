import { raw, sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';

/** The periods of the overview. A week and a month end now, and start with a UTC day. */
export const PERIODS = ['day', 'week', 'month'] as const;
export type UsagePeriod = (typeof PERIODS)[number];

/** For each period, its start, and the time of one bar of its plots. */
const SPANS: Readonly<
  Record<UsagePeriod, { readonly start: string; readonly step: string; readonly seconds: number }>
> = {
  day: { start: "date_trunc('hour', now(), 'UTC') - interval '23 hours'", step: '1 hour', seconds: 3_600 },
  week: { start: "date_trunc('day', now(), 'UTC') - interval '6 days'", step: '6 hours', seconds: 21_600 },
  month: { start: "date_trunc('day', now(), 'UTC') - interval '29 days'", step: '1 day', seconds: 86_400 },
};

export interface CallSums {
  readonly calls: number;
  readonly failures: number;
  readonly units: number;
  /** Milliseconds: 95 % of the calls took at most this long. Null without a call, infinite beyond the last bucket. */
  readonly p95: number | null;
}

export interface Overview {
  readonly from: Date;
  /** The time of the store. */
  readonly now: Date;
  readonly total: CallSums;
  /** One element for each span of time, in order. Those without a call are present. */
  readonly series: readonly (CallSums & { readonly start: Date })[];
  /** The app with the most calls first. Pages that people open, and the command line, do not count. */
  readonly apps: readonly (CallSums & AppName)[];
}

interface AppName {
  /** Empty for pages that people open, and for the command line. */
  readonly app_id: string;
  /** Null for an app that does not exist any more. */
  readonly app_name: string | null;
}

interface SumRow extends AppName, Omit<CallSums, 'p95'> {
  readonly start: Date;
  readonly buckets: readonly number[];
}

/** The number of elements of `buckets` in gateway.audit_hour. */
const BUCKETS = 33;
const EACH = Array.from({ length: BUCKETS }, (_, i) => `sum(s.buckets[${i + 1}])`).join(', ');

/** Calls of apps, their failures and durations, in one organization and period, by time and by app. */
export async function readOverview(db: Database, organization: string, period: UsagePeriod): Promise<Overview> {
  const { step, seconds } = SPANS[period];
  const clock = await clockOf(db, period);
  const rows = await db.read<SumRow>(sql`
    WITH s AS (
      SELECT h.hour, h.app_id, h.calls, h.failures, h.units, h.buckets FROM gateway.audit_app_hour h
       WHERE h.organization_id = ${organization} AND h.hour >= ${clock.from}::timestamptz AND h.hour < ${clock.until}::timestamptz
         AND h.app_id <> ''
       UNION ALL
      SELECT h.hour, h.app_id, h.calls, CASE WHEN h.outcome <> 'ok' THEN h.calls ELSE 0 END, h.units, h.buckets::integer[]
        FROM gateway.audit_hour h WHERE h.organization_id = ${organization} AND h.hour >= ${clock.until}::timestamptz
         AND h.app_id <> ''
    ), summed AS (
      SELECT date_bin(${step}::text::interval, s.hour, ${clock.from}::timestamptz) AS start, s.app_id, sum(s.calls)::float8 AS calls,
             sum(s.failures)::float8 AS failures, sum(s.units)::float8 AS units, to_json(ARRAY[${raw(EACH)}]) AS buckets
        FROM s GROUP BY 1, 2
    ) SELECT x.*, a.name AS app_name FROM summed x LEFT JOIN gateway.app a ON a.id = x.app_id`);
  return overviewOf(rows, clock, seconds);
}

interface PeriodClock {
  readonly from: Date;
  readonly now: Date;
  /** Hours from this time on, at least those after `from`, are not in the sums by app. */
  readonly until: Date;
}

/**
 * The period, as values of the next statement: the planner of PostgreSQL cannot estimate times that another table has,
 * and reads the sums of all hours instead (0.9 s instead of 0.05 s on 27 November 2026, test/store/overview.test.ts).
 */
async function clockOf(db: Database, period: UsagePeriod): Promise<PeriodClock> {
  const from = raw(SPANS[period].start);
  const [clock] = await db.read<PeriodClock>(
    sql`SELECT ${from} AS from, now() AS now, greatest(${from}, until) AS until FROM gateway.audit_summed`,
  );
  if (!clock) throw new Error('the store did not tell its time');
  return clock;
}

function overviewOf(rows: readonly SumRow[], { from, now }: PeriodClock, seconds: number): Overview {
  const starts: Date[] = [];
  for (let time = from.getTime(); time <= now.getTime(); time += seconds * 1_000) starts.push(new Date(time));
  const byStart = grouped(rows, ({ start }) => start.getTime());
  const byApp = grouped(rows, ({ app_id }) => app_id);
  return {
    from,
    now,
    total: sumOf(rows),
    series: starts.map((start) => ({ start, ...sumOf(byStart.get(start.getTime()) ?? []) })),
    apps: [...byApp]
      .map(([app_id, own]) => ({ app_id, app_name: own[0]?.app_name ?? null, ...sumOf(own) }))
      .sort((a, b) => b.calls - a.calls || (a.app_id < b.app_id ? -1 : 1)),
  };
}

function grouped<Key>(rows: readonly SumRow[], keyOf: (row: SumRow) => Key): Map<Key, SumRow[]> {
  const groups = new Map<Key, SumRow[]>();
  for (const row of rows) {
    const own = groups.get(keyOf(row));
    if (own) own.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return groups;
}

function sumOf(rows: readonly SumRow[]): CallSums {
  const total = (of: (row: SumRow) => number): number => rows.reduce((sum, row) => sum + of(row), 0);
  const buckets = Array.from({ length: BUCKETS }, (_, i) => total((row) => row.buckets[i] ?? 0));
  return {
    calls: total(({ calls }) => calls),
    failures: total(({ failures }) => failures),
    units: total(({ units }) => units),
    p95: p95Of(buckets),
  };
}

/** The upper end of the bucket with the call at 95 %. Element n counts durations up to 2^((n-1)/2) ms. */
export function p95Of(buckets: readonly number[]): number | null {
  const all = buckets.reduce((sum, n) => sum + n, 0);
  if (all === 0) return null;
  const rank = Math.ceil(all * 0.95);
  let seen = 0;
  const at = buckets.findIndex((n) => {
    seen += n;
    return seen >= rank;
  });
  return at >= BUCKETS - 1 ? Number.POSITIVE_INFINITY : 2 ** (at / 2);
}

export interface AppReading extends AppName, Omit<CallSums, 'p95'> {
  readonly operation: string;
}

/** What each app calls, most calls first, and then pages and commands, from row `offset` on. `total` counts the rows of all pages. */
export async function readReadings(
  db: Database,
  organization: string,
  period: UsagePeriod,
  { limit, offset, app = null }: { readonly limit: number; readonly offset: number; readonly app?: string | null },
): Promise<{ readonly rows: readonly AppReading[]; readonly total: number }> {
  const clock = await clockOf(db, period);
  // The sums of days do not fit a day that starts at any hour.
  const [days, hours] = period === 'day' ? [null, clock.from] : [clock.from, clock.until];
  const rows = await db.read<AppReading & { total: number }>(sql`
    WITH s AS (
      SELECT d.app_id, d.operation, d.calls, d.failures, d.units FROM gateway.audit_app_day d
       WHERE d.organization_id = ${organization} AND (${app}::text IS NULL OR d.app_id = ${app})
         AND d.day >= (${days}::timestamptz AT TIME ZONE 'UTC')::date
       UNION ALL
      SELECT h.app_id, h.operation, h.calls, CASE WHEN h.outcome <> 'ok' THEN h.calls ELSE 0 END, h.units
        FROM gateway.audit_hour h
       WHERE h.organization_id = ${organization} AND h.hour >= ${hours}::timestamptz AND (${app}::text IS NULL OR h.app_id = ${app})
    ), summed AS (
      SELECT s.app_id, s.operation, sum(s.calls)::float8 AS calls, sum(s.failures)::float8 AS failures, sum(s.units)::float8 AS units,
             (count(*) OVER ())::integer AS total
        FROM s GROUP BY 1, 2 ORDER BY s.app_id = '', 3 DESC, 1, 2 LIMIT ${limit}::integer OFFSET ${offset}::integer
    ) SELECT x.*, a.name AS app_name FROM summed x LEFT JOIN gateway.app a ON a.id = x.app_id ORDER BY x.app_id = '', x.calls DESC, x.app_id, x.operation`);
  return { rows: rows.map(({ total: _, ...row }) => row), total: rows[0]?.total ?? 0 };
}

/** Hours that one call sums. More calls follow until nothing is left. */
const AT_ONCE = 6;

/** Sums the hours that are over, for the overview. True if there can be more. */
export async function sumAudit(db: Database): Promise<boolean> {
  const [row] = await db.query<{ hours: number }>(sql`SELECT gateway.sum_audit(${AT_ONCE}::integer) AS hours`);
  return (row?.hours ?? 0) >= AT_ONCE;
}
