import { z } from 'zod';
import { WebsiteId } from '../core/ids.ts';
import { ServiceText, type Writer, writtenBy } from '../core/texts.ts';
import { type Projection, Time } from '../core/view.ts';

export const RANGES = ['today', 'last-7-days', 'last-month', 'date'] as const;
/** The longest label in a report, in characters. The stored records have the same limit. */
export const LABEL = 120;
/** The largest number of labels in one series of a report. */
export const LABELS = 100;

const count = (description: string) => z.int().min(0).describe(description);
const contentCount = (description: string) =>
  z.int().min(0).nullable().describe(`${description} Null if message content is not granted.`);
const mean = (description: string) =>
  z.number().nullable().describe(`${description} Null if there is nothing to measure.`);
const pairs = (writer: Writer) =>
  z.array(z.tuple([writtenBy(writer, z.string().max(LABEL)), z.int().min(0)])).max(LABELS);
const series = (description: string) => pairs('service').describe(`${description} Pairs of label and count.`);
const ranked = (description: string) => series(`${description} Most frequent first.`);
const granted = (description: string, writer: Writer) =>
  pairs(writer).nullable().describe(`${description} Most frequent first. Pairs of label and count.`);
const content = (description: string, writer: Writer = 'outsiders') =>
  granted(`${description} Null if message content is not granted.`, writer);
const Day = z.iso.date();

const meta = z.strictObject({
  coverage: z
    .literal('ai_evidenced_conversations')
    .describe('Always: only conversations with AI evidence are counted.'),
  range: z.enum(RANGES).optional().describe('Range of the report.'),
  start: Day.describe('First local day, YYYY-MM-DD.'),
  end: Day.describe('Last local day, included, YYYY-MM-DD.'),
  time_zone: ServiceText.describe('IANA time zone of the website.'),
  bucket_time_zone: ServiceText.describe('IANA time zone in which the days and hours of this report are counted.'),
  generated_at: Time.describe(
    'When the report was computed; later records may be missing. RFC 3339, UTC, milliseconds.',
  ),
  source: z.literal('persisted').describe('Always: computed from stored records.'),
  truncated: z.boolean().describe(`Whether a list was cut at ${LABELS} labels.`),
  cache_seconds: z.int().min(0).max(300).describe('Seconds for which the answer may be reused.'),
  restriction_dimensions: z
    .array(z.enum(['channel', 'team', 'subsite']))
    .describe('Restrictions of this credential, applied before counting; empty if it has none.'),
  data_access: z
    .strictObject({
      content_derived_measures: z.boolean().describe('Whether measures derived from message content are shown.'),
      language_labels: z.boolean().describe('Whether the language series is shown.'),
      operator_labels: z.boolean().describe('Whether the operators series is shown.'),
    })
    .describe('Which measures this credential may see.'),
  withheld: z
    .array(
      z.strictObject({
        path: ServiceText.describe('Path of the null inside data: member names and array indexes joined by dots.'),
        reason: z
          .enum(['message_content', 'pii', 'directory', 'no_data'])
          .describe('Grant that is missing, or no_data.'),
      }),
    )
    .describe('Reason of every null in this answer.'),
  website: z
    .strictObject({ id: WebsiteId, name: ServiceText.max(240).describe('Name of the website.') })
    .describe('Website of the report.'),
});

const headline = z.strictObject({
  ai_conversations: count('AI-evidenced conversations created in the range.'),
  ai_touched_visitors: count('Distinct visitors of these conversations.'),
  ai_assisted_conversations: count('Those with at least one public operator message.'),
  ai_customer_facing_conversations: count('Those with at least one AI message that the visitor sees.'),
  human_escalations: count('Those with an operator message after the first AI evidence.'),
});

const metrics = z.strictObject({
  message_count: count('Number of public messages.'),
  visitor_message_count: count('Number of public messages by visitors.'),
  bot_message_count: count('Number of public messages by bots.'),
  operator_message_count: count('Number of public messages by operators.'),
  first_response_seconds: mean('Mean seconds from the first visitor message to the first reply by anyone.'),
  first_response_count: count('Conversations behind first_response_seconds.'),
  speed_response_seconds: mean('Mean seconds from the first visitor message to the first reply by an operator.'),
  speed_response_count: count('Conversations behind speed_response_seconds.'),
  average_response_seconds: mean(
    'Mean seconds from a visitor message to the bot or operator message directly after it.',
  ),
  duration_seconds: mean('Mean seconds from the start of a conversation to its last public message.'),
  classified_count: contentCount('Conversations with an AI result that has a resolution.'),
  resolved_count: contentCount('Conversations with an AI result whose resolution is resolved.'),
  first_contact_count: contentCount('AI results that say whether the first contact resolved the request.'),
  first_contact_resolved: contentCount('Those AI results that say yes.'),
  sentiment_average: mean('Mean sentiment of AI results, -1 to 1; needs message content.'),
  confidence_average: mean('Mean confidence of AI results, 0 to 1; needs message content.'),
  confidence_count: contentCount('AI results that have a confidence.'),
});

const summary = z.strictObject({
  series: z
    .strictObject({
      volume: series('Conversations by local day: every day of the range in order, zeros included.'),
      volume_hourly: series('Conversations by local hour of creation, 00 to 23, zeros included.'),
      platform: ranked('Conversations by platform.'),
      topics: content('AI results by topic.'),
      language: granted('Conversations by language tag. Null if personal data is not granted.', 'service'),
      sentiment: content('AI results by sentiment: negative (below -0.25), neutral, positive (above 0.25).', 'service'),
      resolution: content('AI results by resolution.'),
      operators: granted(
        'Conversations by operator name. Null if the directory or personal data is not granted.',
        'outsiders',
      ),
    })
    .describe('Series of counts by label.'),
  metrics: metrics.describe('Counts and means; times in seconds.'),
  ratings: content('Conversations by rating label.'),
  outcomes: content('AI results by outcome.'),
  duration_by_platform: z
    .array(
      z.strictObject({
        platform: ServiceText.max(LABEL).describe('Name of the platform.'),
        conversation_count: count('Number of conversations on the platform.'),
        sample_count: count('Those with at least one public message.'),
        average_seconds: mean('Mean duration of the sample, in seconds.'),
      }),
    )
    .max(LABELS)
    .describe('Duration of conversations by platform, most conversations first.'),
});

const report = z.strictObject({
  meta: meta.describe('What the figures cover, and why some are missing.'),
  headline: headline.describe('Numbers of conversations; one conversation may count in several of them.'),
  summary: summary.describe('Series, metrics, ratings, outcomes and durations.'),
});

export type Report = z.output<typeof report>;

/** The `data` member of an AI conversation summary. The guide `reporting` explains each number. */
export const ReportSchema: z.ZodType<Projection<'Report'>, Projection<'Report'>> = report;
