import { z } from 'zod';
import { example } from '../core/example.js';
import { WebsiteId } from '../core/ids.js';
import { named } from '../core/json-schema.js';
import { ServiceText, writtenBy } from '../core/texts.js';
import { Time } from '../core/view.js';
export const RANGES = ['today', 'last-7-days', 'last-month', 'date'];
/** In characters. The stored records have the same limit. */
export const LABEL = 120;
/** The largest number of labels in one series. */
export const LABELS = 100;
const shows = (shown, schema) => shown === undefined ? schema : example(shown, schema);
const count = (description, shown) => shows(shown, z.int().min(0).describe(description));
const contentCount = (description) => z.int().min(0).nullable().describe(`${description} Null if message content is not granted.`);
const mean = (description, shown) => shows(shown, z.number().nullable().describe(`${description} Null if there is nothing to measure.`));
const pairs = (writer) => z.array(z.tuple([writtenBy(writer, z.string().max(LABEL)), z.int().min(0)])).max(LABELS);
const series = (description, shown) => example([shown], pairs('service').describe(description));
const ranked = (description, shown) => series(`${description} Largest first.`, shown);
const granted = (description, writer, shown) => example([shown], pairs(writer).nullable().describe(`${description} Largest first.`));
const content = (description, shown, writer = 'outsiders') => granted(`${description} Null if message content is not granted.`, writer, shown);
const Day = z.iso.date();
const meta = z.strictObject({
    coverage: z
        .literal('ai_evidenced_conversations')
        .describe('Set of conversations that the report counts. Always conversations with AI evidence: an AI message or an AI result.'),
    range: example('last-7-days', z.enum(RANGES).optional().describe('Range of the report: today, last-7-days, last-month or date.')),
    start: example('2026-11-14', Day.describe('First local day of the report, YYYY-MM-DD.')),
    end: example('2026-11-20', Day.describe('Last local day of the report, YYYY-MM-DD. The report includes this day.')),
    time_zone: example('America/New_York', ServiceText.describe('Time zone of the website, as an IANA name.')),
    bucket_time_zone: example('America/New_York', ServiceText.describe('Time zone of the days and hours in this report, as an IANA name.')),
    generated_at: Time.describe('Time at which the report was computed. Later records are not counted.'),
    source: z
        .literal('persisted')
        .describe('Source of the figures. Always persisted: the gateway computes the figures from stored records.'),
    truncated: example(false, z.boolean().describe(`True if at least one list was cut to ${LABELS} labels.`)),
    cache_seconds: z.int().min(0).max(300).describe('Seconds for which a client can reuse the report.'),
    restriction_dimensions: example([], z
        .array(z.enum(['channel', 'team', 'subsite']))
        .describe('Restrictions of the credential. Conversations outside the restrictions are not counted. Empty if the credential has no restrictions.')),
    data_access: z
        .strictObject({
        content_derived_measures: z
            .boolean()
            .describe('True if the credential may see figures that come from message content.'),
        language_labels: z.boolean().describe('True if the credential may see the series `language`.'),
        operator_labels: z.boolean().describe('True if the credential may see the series `operators`.'),
    })
        .describe('Groups of figures that the credential may see.'),
    withheld: z
        .array(z.strictObject({
        path: example('summary.metrics.duration_seconds', ServiceText.describe('Path of the null value inside data. Dots join the names of members and the indexes of arrays.')),
        reason: example('no_data', z
            .enum(['message_content', 'pii', 'directory', 'no_data'])
            .describe('Reason why the value is null: a missing grant, or no_data.')),
    }))
        .describe('One entry for each null value in the report, with the reason for the null.'),
    website: z
        .strictObject({
        id: WebsiteId,
        name: example('Larkspur Outfitters US', ServiceText.max(240).describe('Name of the website.')),
    })
        .describe('Website that the report is about.'),
});
const headline = z.strictObject({
    ai_conversations: count('Number of conversations with AI evidence that were created in the range. AI evidence is an AI message or an AI result.', 42),
    ai_touched_visitors: count('Number of different visitors in the conversations with AI evidence.', 39),
    ai_assisted_conversations: count('Number of conversations with AI evidence in which an operator wrote at least one public message.', 17),
    ai_customer_facing_conversations: count('Number of conversations with at least one AI message that the visitor can see.', 25),
    human_escalations: count('Number of conversations in which an operator wrote a message after the first AI evidence.', 8),
});
const metrics = z.strictObject({
    message_count: count('Number of public messages in the conversations.', 318),
    visitor_message_count: count('Number of public messages that visitors wrote.'),
    bot_message_count: count('Number of public messages that bots wrote.', 121),
    operator_message_count: count('Number of public messages that operators wrote.'),
    first_response_seconds: mean('Mean time in seconds from the first message of the visitor to the first reply by anyone.', 12.4),
    first_response_count: count('Number of conversations that the mean first_response_seconds is computed from.'),
    speed_response_seconds: mean('Mean time in seconds from the first message of the visitor to the first reply by an operator.'),
    speed_response_count: count('Number of conversations that the mean speed_response_seconds is computed from.'),
    average_response_seconds: mean('Mean time in seconds from a visitor message to the bot or operator message that directly follows.', 48.5),
    duration_seconds: mean('Mean time in seconds from the start of a conversation to the last public message.', null),
    classified_count: contentCount('Number of conversations with an AI result that has a resolution.'),
    resolved_count: contentCount('Number of conversations with an AI result that has the resolution resolved.'),
    first_contact_count: contentCount('Number of AI results that say whether the first contact resolved the request.'),
    first_contact_resolved: contentCount('Number of AI results that say that the first contact resolved the request.'),
    sentiment_average: mean('Mean sentiment of the AI results, from -1 to 1. Null if message content is not granted.'),
    confidence_average: mean('Mean confidence of the AI results, from 0 to 1. Null if message content is not granted.'),
    confidence_count: contentCount('Number of AI results that have a confidence.'),
});
const summary = z.strictObject({
    series: z
        .strictObject({
        volume: series('Number of conversations on each local day. The series has every day of the range in order, including days with the count 0.', ['2026-11-14', 6]),
        volume_hourly: series('Number of conversations by the local hour of their creation. The series has every hour from 00 to 23, including hours with the count 0.', ['09', 4]),
        platform: ranked('Number of conversations on each platform.', ['chat', 31]),
        topics: content('Number of AI results with each topic.', ['Delivery', 12]),
        language: granted('Number of conversations in each language. A label is a BCP 47 tag. The series is null if personal data is not granted.', 'service', ['en', 35]),
        sentiment: content('Number of AI results with each sentiment. A sentiment below -0.25 is negative, and a sentiment above 0.25 is positive. Other sentiments are neutral.', ['positive', 20], 'service'),
        resolution: content('Number of AI results with each resolution.', ['resolved', 28]),
        operators: granted('Number of conversations of each operator. A label is the name of an operator. The series is null if the directory or personal data is not granted.', 'outsiders', ['Priya Raman', 9]),
    })
        .describe('Series of the report. Each series counts conversations or AI results by a label. Each entry is a pair of label and count.'),
    metrics: metrics.describe('Counts and means of the report. Times are in seconds.'),
    ratings: content('Number of conversations with each rating label.', ['Good', 11]),
    outcomes: content('Number of AI results with each outcome.', ['resolved', 28]),
    duration_by_platform: z
        .array(z.strictObject({
        platform: example('chat', ServiceText.max(LABEL).describe('Name of the platform.')),
        conversation_count: count('Number of conversations on the platform.', 2),
        sample_count: count('Number of conversations on the platform with at least one public message.'),
        average_seconds: mean('Mean duration in seconds of the conversations with a public message.', 912.5),
    }))
        .max(LABELS)
        .describe('Mean duration of the conversations on each platform. The platform with the most conversations comes first.'),
});
const report = named('Report', z.strictObject({
    meta: meta.describe('Facts about the report: range, time zones, grants, and the reasons for null values.'),
    headline: headline.describe('Main numbers of the report. One conversation can count in several numbers.'),
    summary: summary.describe('Detailed figures of the report: series, metrics, ratings, outcomes and durations. An AI result is the stored record of an AI session: topics, sentiment, confidence, resolution, first contact and outcome.'),
}));
/** The guide `reporting` explains each number. */
export const ReportSchema = report;
//# sourceMappingURL=report.js.map