import { Failure } from '../../core/failures.ts';
import type { ReportRange, ReportReading } from '../../core/reads.ts';
import { DIRECTORY, type Grants, holds, MSG, PII, type Requirement } from '../../core/scopes.ts';
import { runFor, sql } from '../../core/sql.ts';
import { clip } from '../../core/view.ts';
import { LABEL, LABELS, type Report } from '../../views/report.ts';
import { periodOf, wrongZone, zoneOf } from '../../views/report-range.ts';
import { sqlState } from '../driver/errors.ts';
import type { Replica } from '../driver/lineage.ts';
import { written } from '../driver/lineage.ts';
import type { Database } from '../driver/postgres.ts';
import { guarded, type Proof, type Proved } from './guard.ts';
import type { WebsiteAccess } from './read.ts';
import { reportJoin, seenBy } from './report-sql.ts';

type Pairs = [label: string, count: number][];
type ReportMetrics = Report['summary']['metrics'];
type Withheld = Report['meta']['withheld'];
type Reason = Withheld[number]['reason'];

const NO_CONTENT = {
  classified_count: null,
  resolved_count: null,
  first_contact_count: null,
  first_contact_resolved: null,
  sentiment_average: null,
  confidence_average: null,
  confidence_count: null,
};

interface ReportRow {
  /** The name of the website. Null means that the website does not exist. */
  name: string | null;
  time_zone: string;
  bucket_time_zone: string;
  start: string;
  end: string;
  generated_at: Date;
  headline: Report['headline'];
  metrics: Omit<ReportMetrics, keyof typeof NO_CONTENT>;
  classified?: Pick<ReportMetrics, keyof typeof NO_CONTENT>;
  volume: Pairs;
  volume_hourly: Pairs;
  platform: Pairs;
  duration_by_platform: Report['summary']['duration_by_platform'];
  language?: Pairs;
  operators?: Pairs;
  topics?: Pairs;
  sentiment?: Pairs;
  resolution?: Pairs;
  ratings?: Pairs;
  outcomes?: Pairs;
}

/**
 * Reads the AI conversation summary of the call's website, in one guarded statement on a connection for slow reads.
 *
 * If a current replica is available, the replica answers. The primary then proves the authority, and proves that all
 * data of the answer came from the primary. So a caller gets only data that the credential grants at that moment. But
 * the data can be 10 s old.
 */
export async function readReport(
  access: WebsiteAccess,
  slow: Database,
  range: ReportRange,
  replica?: Pick<Replica, 'read'>,
): Promise<Proved<ReportReading>> {
  const { authority, website } = access;
  const period = periodOf(range);
  const timezone = range.timezone === undefined ? undefined : zoneOf(range.timezone);
  const read = async (): Promise<{ readonly proof: Proof; readonly row: ReportRow | undefined }> => {
    const lagging = await replica?.read<ReportRow>(({ guard, now }) =>
      // On a replica, the guard does not name the app that uses the connection. So name the app here.
      runFor(authority.appId, sql`r.* FROM ${guard} ${reportJoin(authority, website, period, timezone, now)}`),
    );
    // A new website may not be on the replica yet. If the replica does not have the website, the primary answers.
    if (lagging && lagging.name !== null) {
      const { proof, rows } = await guarded<{ written: boolean | null }>(access, sql`${written(lagging)} AS written`);
      if (rows[0]?.written) return { proof, row: lagging };
    }
    const whole = reportJoin(authority, website, period, timezone);
    const { proof, rows } = await guarded<ReportRow>({ authority, db: slow }, sql`r.*`, whole);
    return { proof, row: rows[0] };
  };
  const { proof, row } = await read().catch((error: unknown) => {
    // PostgreSQL decides which time zones are valid. If the website's own is not, the caller can send another one.
    if (sqlState(error) !== '22023') throw error;
    throw wrongZone(timezone === undefined ? 'missing' : undefined);
  });
  if (!row || row.name === null) return { proof, answer: new Failure('not_found') };
  const { summary, truncated } = summarize(row);
  const seen = seenBy(authority);
  const { restrictions } = authority;
  const report: Report = {
    meta: {
      coverage: 'ai_evidenced_conversations',
      range: period.range,
      start: row.start,
      end: row.end,
      time_zone: row.time_zone,
      bucket_time_zone: row.bucket_time_zone,
      generated_at: row.generated_at.toISOString(),
      source: 'persisted',
      truncated,
      cache_seconds: 0,
      restriction_dimensions: (['channel', 'team', 'subsite'] as const).filter((one) => restrictions[`${one}_ids`]),
      data_access: {
        content_derived_measures: seen.content,
        language_labels: seen.language,
        operator_labels: seen.operators,
      },
      withheld: [...nulls(summary, 'summary')].map((path) => ({ path, reason: reasonOf(path, authority) })),
      website: { id: website.id, name: clip(row.name, 240) },
    },
    headline: row.headline,
    summary,
  };
  return { proof, answer: report };
}

function summarize(row: ReportRow): { summary: Report['summary']; truncated: boolean } {
  let truncated = false;
  const cut = <T>(list: readonly T[]): T[] => {
    truncated ||= list.length > LABELS;
    return list.slice(0, LABELS);
  };
  const labels = (pairs: Pairs): Pairs => cut(pairs).map(([label, count]) => [clip(label, LABEL), count]);
  const granted = (pairs: Pairs | undefined): Pairs | null => (pairs ? labels(pairs) : null);
  const summary = {
    series: {
      volume: row.volume,
      volume_hourly: row.volume_hourly,
      platform: labels(row.platform),
      topics: granted(row.topics),
      language: granted(row.language),
      sentiment: granted(row.sentiment),
      resolution: granted(row.resolution),
      operators: granted(row.operators),
    },
    metrics: { ...row.metrics, ...(row.classified ?? NO_CONTENT) },
    ratings: granted(row.ratings),
    outcomes: granted(row.outcomes),
    duration_by_platform: cut(row.duration_by_platform),
  };
  return { summary, truncated };
}

function* nulls(value: unknown, path: string): Generator<string> {
  if (value === null) yield path;
  else if (typeof value === 'object')
    for (const [name, inner] of Object.entries(value)) yield* nulls(inner, `${path}.${name}`);
}

const CONTENT: readonly [Reason, Requirement][] = [['message_content', MSG]];
const NEEDS = new Map<string, readonly [Reason, Requirement][]>([
  ...['topics', 'sentiment', 'resolution'].map((name) => [`summary.series.${name}`, CONTENT] as const),
  ...Object.keys(NO_CONTENT).map((name) => [`summary.metrics.${name}`, CONTENT] as const),
  ['summary.ratings', CONTENT],
  ['summary.outcomes', CONTENT],
  ['summary.series.language', [['pii', PII]]],
  [
    'summary.series.operators',
    [
      ['directory', DIRECTORY],
      ['pii', PII],
    ],
  ],
]);

const reasonOf = (path: string, grants: Grants): Reason =>
  NEEDS.get(path)?.find(([, requirement]) => !holds(grants, requirement))?.[0] ?? 'no_data';
