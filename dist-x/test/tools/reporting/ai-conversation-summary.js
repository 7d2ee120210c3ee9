import { DIRECTORY, MSG, PII } from '../../support/authority/grants.js';
import { stored } from '../../support/authority/records.js';
import { at, columns, plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/analytics/ai-conversations/summary?website_id={web}&range=date&start=2026-11-10&end=2026-11-10',
    scopes: ['reports_read', 'conversation_read'],
    members: {
        data: plain('meta', 'headline', 'summary'),
        'data.headline': plain(...['ai_conversations', 'ai_touched_visitors', 'ai_assisted_conversations'], ...['ai_customer_facing_conversations', 'human_escalations']),
        'data.summary': plain('series', 'metrics', 'ratings', 'outcomes', 'duration_by_platform'),
        'data.summary.series': plain(...['volume', 'volume_hourly', 'platform', 'topics', 'language', 'sentiment', 'resolution', 'operators']),
    },
    nulls: {
        'data.summary.series.topics': MSG,
        'data.summary.series.language': PII,
        'data.summary.series.sentiment': MSG,
        'data.summary.series.resolution': MSG,
        'data.summary.series.operators': [...DIRECTORY, ...PII],
        'data.summary.metrics.classified_count': MSG,
        'data.summary.metrics.resolved_count': MSG,
        'data.summary.metrics.first_contact_count': MSG,
        'data.summary.metrics.first_contact_resolved': MSG,
        'data.summary.metrics.sentiment_average': MSG,
        'data.summary.metrics.confidence_average': MSG,
        'data.summary.metrics.confidence_count': MSG,
        'data.summary.ratings': MSG,
        'data.summary.outcomes': MSG,
    },
    shows: [
        ['website', [1], { name: [] }],
        ['conversation', [1, 2], { language: PII, rating_label: MSG }],
        ['ai_result', [1, 2], columns(MSG, 'topics', 'resolution', 'outcome')],
        stored.staff([...DIRECTORY, ...PII], 1, 2),
    ],
    outsiders: [
        ...at('/data/summary/series', 'topics/*/0', 'resolution/*/0', 'operators/*/0'),
        ...at('/data/summary', 'ratings/*/0', 'outcomes/*/0'),
    ],
    configured: ['/data/meta/website/name'],
});
//# sourceMappingURL=ai-conversation-summary.js.map