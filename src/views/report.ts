import { z } from 'zod';
import { WebsiteId } from '../core/ids.ts';
import { type Projection, Time } from '../core/view.ts';

export const RANGES = ['today', 'last-7-days', 'last-month', 'date'] as const;
/** Longest label, as the records it comes from. */
export const LABEL = 120;
/** Most labels of one series. */
export const LABELS = 100;

const count = (description: string) => z.int().min(0).describe(description);
const contentCount = (description: string) =>
  z.int().min(0).nullable().describe(`${description} Null without message content.`);
const mean = (description: string) => z.number().nullable().describe(`${description} Null when there is none.`);
const Pairs = z.array(z.tuple([z.string().max(LABEL), z.int().min(0)])).max(LABELS);
const series = (description: string) => Pairs.describe(`${description} Pairs of label and count.`);
const ranked = (description: string) => series(`${description} Most frequent first.`);
const granted = (description: string) =>
  Pairs.nullable().describe(`${description} Most frequent first. Pairs of label and count.`);
const content = (description: string) => granted(`${description} Null without message content.`);
const Day = z.iso.date();

const meta = z.strictObject({
  coverage: z.literal('ai_evidenced_conversations').describe('Only conversations with AI evidence are counted.'),
  range: z.enum(RANGES).optional().describe('The range that was used.'),
  start: Day.describe('First local day.'),
  end: Day.describe('Last local day, included.'),
  time_zone: z.string().describe('IANA time zone of the website.'),
  bucket_time_zone: z.string().describe('IANA time zone of the bounds, days and hours of this report.'),
  generated_at: Time.describe(
    'What was stored by then is counted, maybe not what came after. RFC 3339, UTC, milliseconds.',
  ),
  source: z.literal('persisted').describe('Computed from stored records.'),
  truncated: z.boolean().describe(`Whether a list was cut at ${LABELS} labels.`),
  cache_seconds: z.int().min(0).max(300).describe('How long the answer may be reused.'),
  restriction_dimensions: z
    .array(z.enum(['channel', 'team', 'subsite']))
    .describe('Restrictions of this credential that were applied before counting.'),
  data_access: z
    .strictObject({
      content_derived_measures: z.boolean().describe('Measures drawn from message content.'),
      language_labels: z.boolean().describe('The language series.'),
      operator_labels: z.boolean().describe('The operators series.'),
    })
    .describe('Which measures this credential may see.'),
  withheld: z
    .array(
      z.strictObject({
        path: z.string().describe('Place of a null inside data: member names and list positions joined by dots.'),
        reason: z
          .enum(['message_content', 'pii', 'directory', 'no_data'])
          .describe('The grant that is missing, or no_data.'),
      }),
    )
    .describe('Why each null of this answer is null.'),
  website: z
    .strictObject({ id: WebsiteId, name: z.string().max(240).describe('Name of the website.') })
    .describe('The website reported on.'),
});

const headline = z.strictObject({
  ai_conversations: count('AI-evidenced conversations created in the range.'),
  ai_touched_visitors: count('Distinct visitors of them.'),
  ai_assisted_conversations: count('Of them, with at least one public operator message.'),
  ai_customer_facing_conversations: count('Of them, with at least one AI message that the visitor sees.'),
  human_escalations: count('Of them, with an operator message after the first AI evidence.'),
});

const metrics = z.strictObject({
  message_count: count('Public messages.'),
  visitor_message_count: count('Public messages of visitors.'),
  bot_message_count: count('Public messages of bots.'),
  operator_message_count: count('Public messages of operators.'),
  first_response_seconds: mean('Mean seconds from the first visitor message to the first reply of anybody.'),
  first_response_count: count('Conversations with both.'),
  speed_response_seconds: mean('Mean seconds from the first visitor message to the first operator reply.'),
  speed_response_count: count('Conversations with both.'),
  average_response_seconds: mean('Mean seconds of all waits from a visitor message to the next reply.'),
  duration_seconds: mean('Mean seconds from the begin of a conversation to its last public message.'),
  classified_count: contentCount('Conversations with a resolution.'),
  resolved_count: contentCount('Of them, with the resolution resolved.'),
  first_contact_count: contentCount('AI results that say whether the first contact resolved the request.'),
  first_contact_resolved: contentCount('Of them, those that say yes.'),
  sentiment_average: mean('Mean sentiment of AI results, -1 to 1; needs message content.'),
  confidence_average: mean('Mean confidence of AI results, 0 to 1; needs message content.'),
  confidence_count: contentCount('AI results with a confidence.'),
});

const summary = z.strictObject({
  series: z
    .strictObject({
      volume: series('Conversations by local day, every day of the range in order.'),
      volume_hourly: series('Conversations by local hour, 00 to 23.'),
      platform: ranked('Conversations by platform.'),
      topics: content('AI results by topic.'),
      language: granted('Conversations by language tag. Null without personal data.'),
      sentiment: content('AI results by sentiment: negative (below -0.25), neutral, positive (above 0.25).'),
      resolution: content('AI results by resolution.'),
      operators: granted('Conversations by operator name. Null without directory and personal data.'),
    })
    .describe('Counts by label.'),
  metrics: metrics.describe('Counts and means; times in seconds.'),
  ratings: content('Conversations by rating label.'),
  outcomes: content('AI results by outcome.'),
  duration_by_platform: z
    .array(
      z.strictObject({
        platform: z.string().max(LABEL).describe('Platform.'),
        conversation_count: count('Conversations.'),
        sample_count: count('Of them, with a public message.'),
        average_seconds: mean('Mean duration of the sample in seconds.'),
      }),
    )
    .max(LABELS)
    .describe('Duration of conversations by platform, most conversations first.'),
});

const report = z.strictObject({
  meta: meta.describe('What the figures cover, and why some are missing.'),
  headline: headline.describe('Numbers of conversations; one conversation may count in several.'),
  summary: summary.describe('Series, metrics, ratings, outcomes and durations.'),
});

export type Report = z.output<typeof report>;

/** The `data` of an AI conversation summary (contract, Reporting; decisions, section 11; guide `reporting`). */
export const ReportSchema: z.ZodType<Projection<'Report'>, Projection<'Report'>> = report;
