import { z } from 'zod';
import { AiFeatureId } from '../core/ids.ts';
import { raw } from '../core/sql.ts';
import { ServiceText } from '../core/texts.ts';
import * as f from '../core/view.ts';

export const AI_TYPES = [
  'autopilot',
  'ask_ai',
  'copilot',
  'translation',
  'language_detection',
  'spam_checker',
  'spelling_grammar_check',
  'rephrase',
  'chat_summary',
  'metrics',
  'scoring',
  'product_recommendation',
  'email_autopilot',
  'voice_autopilot',
  'citation_summary',
  'unsupported',
] as const;

/** The only type of AI feature that the gateway executes. It needs only the text in the request and no AI provider. */
const EXECUTABLE = 'language_detection';

const metadata = {
  table: 'platform.ai_feature',
  alias: 'a',
  id: AiFeatureId,
  order: 'asc',
  // The metadata describes the active version. So a feature without an active version is hidden.
  visible: raw('a.active_version IS NOT NULL'),
} as const;

const Type = z.enum(AI_TYPES).describe('Type of the feature.');
const Version = z.int().min(1).describe('Number of the active version; pass it as expected_version of a write.');

/** The feature version that the caller has read. A write fails if another version is active now. */
export const ExpectedVersion = z.int().min(1).max(2_147_483_647).describe('Version that you read.');

/** A language code of ISO 639-1. */
export const LanguageCode = z.string().regex(/^[a-z]{2}$/);

export const DetectionContext = z
  .strictObject({
    type: z.literal('text').describe('Kind of input.'),
    text: z.string().min(1).max(4000).describe('Text whose language to detect, 1 to 4,000 characters.'),
    default_language: LanguageCode.optional().describe('ISO 639-1 code returned if undetermined.'),
  })
  .describe('Input of the feature.');

/** The metadata of an AI feature. Instructions, provider credentials and settings are not in the database. */
export const AiFeatureView = f.defineView({
  ...metadata,
  name: 'AiFeature',
  fields: {
    id: f.ownId('a', AiFeatureId),
    name: f.text('a.name', 200, 'Name of the feature.', { writer: 'service' }),
    type: f.column('a.type', Type),
    enabled: f.column('a.enabled', z.boolean().describe('Whether the feature is in use.')),
    version: f.column('a.active_version', Version),
  },
});

export const AiFeatureListView = f.defineView({
  ...metadata,
  name: 'AiFeatureEntry',
  fields: {
    ...AiFeatureView.fields,
    application_execution: f.derived(
      z
        .strictObject({
          available: z.boolean().describe('Whether ai_feature_execute can run the feature.'),
          reason: z
            .enum(['adapter_not_available', 'scope_denied'])
            .optional()
            .describe('Why the feature cannot be executed; absent if it can.'),
          context_types: z
            .array(z.literal('text'))
            .optional()
            .describe('Kinds of input that the feature takes; absent if it cannot be executed.'),
        })
        .describe('Whether this credential can execute the feature.'),
      ['a.type'],
      ([type], { grants }) => {
        if (type !== EXECUTABLE) return { available: false, reason: 'adapter_not_available' };
        if (!grants.scopes.has('ai_execute')) return { available: false, reason: 'scope_denied' };
        return { available: true, context_types: ['text'] };
      },
    ),
  },
});

export const AiFeatureMatchView = f.defineView({
  ...metadata,
  name: 'AiFeatureMatch',
  fields: {
    path: f.derived(
      ServiceText.max(200).describe('Settings path of the feature, for config_get and config_plan.'),
      ['a.id'],
      ([id], { website }) => {
        return `/ai/features/${AiFeatureId.format(website, String(id))}`;
      },
    ),
    label: f.text('a.name', 200, 'Name of the feature.', { writer: 'service' }),
    type: f.column('a.type', Type),
    version: f.column('a.active_version', Version),
  },
});
