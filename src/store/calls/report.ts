import { Failure } from '../../core/failures.ts';
import type { ReportRange, ReportReading } from '../../core/reads.ts';
import { DIRECTORY, type Grants, holds, MSG, PII, type Requirement } from '../../core/scopes.ts';
import { sql } from '../../core/sql.ts';
import { clip } from '../../core/view.ts';
import { LABEL, LABELS, type Report } from '../../views/report.ts';
import { periodOf, refuse, zoneOf } from '../../views/report-range.ts';
import { type Database, sqlState } from '../driver/postgres.ts';
import { type Replica, written } from '../open/replica.ts';
import { guard } from './guard.ts';
import { guarded, type ReadSession } from './read.ts';
import { reportStatement, seenBy } from './report-sql.ts';

type Pairs = [label: string, count: number][];
type Metrics = Report['summary']['metrics'];
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

/** The row of the statement. An optional column is present when the caller has the grants for it. */
interface Row {
  /** Null when there is no such website. */
  name: string | null;
  time_zone: string;
  bucket_time_zone: string;
  start: string;
  end: string;
  generated_at: Date;
  headline: Report['headline'];
  metrics: Omit<Metrics, keyof typeof NO_CONTENT>;
  classified?: Pick<Metrics, keyof typeof NO_CONTENT>;
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
 * The AI conversation summary of the call's website: one guarded statement on a connection for slow reads. When a
 * current replica is there, it is read instead. The primary then proves the authority, and that it has itself written
 * all that was read. So nobody gets more than the credential grants at that moment, though the rows may be 10 s old.
 */
export async function readReport(
  session: ReadSession,
  slow: Database,
  range: ReportRange,
  replica?: Pick<Replica, 'read'>,
): Promise<ReportReading> {
  const { authority, website } = session;
  const period = periodOf(range);
  const timezone = range.timezone === undefined ? undefined : zoneOf(range.timezone);
  const read = async (): Promise<Row | undefined> => {
    const lagging = await replica?.read<Row>((standing) =>
      reportStatement(authority, website, period, timezone, standing),
    );
    // The replica may not know a new website yet, so the primary answers for it.
    if (lagging && lagging.name !== null) {
      const [told] = await guarded<{ written: boolean | null }>(
        session,
        sql`${written(lagging)} AS written FROM ${guard(authority)}`,
      );
      if (told?.written) return lagging;
    }
    const proof = { db: slow, authority, verified: false };
    const [row] = await guarded<Row>(proof, reportStatement(authority, website, period, timezone));
    session.verified = proof.verified;
    return row;
  };
  const row = await read().catch((error: unknown) => {
    // The zone is unknown to PostgreSQL, which decides. A caller can override an unknown zone of the website.
    if (sqlState(error) !== '22023') throw error;
    return refuse([{ parameter: 'timezone', code: timezone === undefined ? 'missing' : 'invalid_parameter' }]);
  });
  if (!row || row.name === null) throw new Failure('not_found');
  const { summary, truncated } = summarize(row);
  const seen = seenBy(authority);
  const { restrictions } = authority;
  return {
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
      restriction_dimensions: [
        ...(restrictions.channel_ids ? (['channel'] as const) : []),
        ...(restrictions.team_ids ? (['team'] as const) : []),
        ...(restrictions.subsite_ids ? (['subsite'] as const) : []),
      ],
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
  } satisfies Report;
}

function summarize(row: Row): { summary: Report['summary']; truncated: boolean } {
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

/** The paths of all nulls inside a value. */
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
