import { Failure } from '../../core/failures.js';
import { DIRECTORY, holds, MSG, PII } from '../../core/scopes.js';
import { runFor, sql } from '../../core/sql.js';
import { clip } from '../../core/view.js';
import { LABEL, LABELS } from '../../views/report.js';
import { periodOf, wrongZone, zoneOf } from '../../views/report-range.js';
import { sqlState } from '../driver/errors.js';
import { written } from '../driver/lineage.js';
import { guarded } from './guard.js';
import { reportJoin, seenBy } from './report-sql.js';
const NO_CONTENT = {
    classified_count: null,
    resolved_count: null,
    first_contact_count: null,
    first_contact_resolved: null,
    sentiment_average: null,
    confidence_average: null,
    confidence_count: null,
};
/**
 * Reads the AI conversation summary of the call's website, in one guarded statement on a connection for slow reads.
 *
 * If a current replica is available, the replica answers. The primary then proves the authority, and proves that all
 * data of the answer came from the primary. So a caller gets only data that the credential grants at that moment. But
 * the data can be 10 s old.
 */
export async function readReport(access, slow, range, replica) {
    const { authority, website } = access;
    const period = periodOf(range);
    const timezone = range.timezone === undefined ? undefined : zoneOf(range.timezone);
    const read = async () => {
        const lagging = await replica?.read(({ guard, now }) => 
        // On a replica, the guard does not name the app that uses the connection. So name the app here.
        runFor(authority.appId, sql `r.* FROM ${guard} ${reportJoin(authority, website, period, timezone, now)}`));
        // A new website may not be on the replica yet. If the replica does not have the website, the primary answers.
        if (lagging && lagging.name !== null) {
            const { proof, rows } = await guarded(access, sql `${written(lagging)} AS written`);
            if (rows[0]?.written)
                return { proof, row: lagging };
        }
        const whole = reportJoin(authority, website, period, timezone);
        const { proof, rows } = await guarded({ authority, db: slow }, sql `r.*`, whole);
        return { proof, row: rows[0] };
    };
    const { proof, row } = await read().catch((error) => {
        // PostgreSQL decides which time zones are valid. If the website's own is not, the caller can send another one.
        if (sqlState(error) !== '22023')
            throw error;
        throw wrongZone(timezone === undefined ? 'missing' : undefined);
    });
    if (!row || row.name === null)
        return { proof, answer: new Failure('not_found') };
    const { summary, truncated } = summarize(row);
    const seen = seenBy(authority);
    const { restrictions } = authority;
    const report = {
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
                ...(restrictions.channel_ids ? ['channel'] : []),
                ...(restrictions.team_ids ? ['team'] : []),
                ...(restrictions.subsite_ids ? ['subsite'] : []),
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
    };
    return { proof, answer: report };
}
function summarize(row) {
    let truncated = false;
    const cut = (list) => {
        truncated ||= list.length > LABELS;
        return list.slice(0, LABELS);
    };
    const labels = (pairs) => cut(pairs).map(([label, count]) => [clip(label, LABEL), count]);
    const granted = (pairs) => (pairs ? labels(pairs) : null);
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
function* nulls(value, path) {
    if (value === null)
        yield path;
    else if (typeof value === 'object')
        for (const [name, inner] of Object.entries(value))
            yield* nulls(inner, `${path}.${name}`);
}
const CONTENT = [['message_content', MSG]];
const NEEDS = new Map([
    ...['topics', 'sentiment', 'resolution'].map((name) => [`summary.series.${name}`, CONTENT]),
    ...Object.keys(NO_CONTENT).map((name) => [`summary.metrics.${name}`, CONTENT]),
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
const reasonOf = (path, grants) => NEEDS.get(path)?.find(([, requirement]) => !holds(grants, requirement))?.[0] ?? 'no_data';
//# sourceMappingURL=report.js.map