import { z } from 'zod';
import { AiFeatureId } from '../core/ids.ts';
import { raw } from '../core/sql.ts';
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

/** The one type that runs here: on supplied text, without provider or session. */
const EXECUTABLE = 'language_detection';

const metadata = {
  table: 'platform.ai_feature',
  alias: 'a',
  id: AiFeatureId,
  order: 'asc',
  // Metadata of the active version: a feature without one is not there.
  visible: raw('a.active_version IS NOT NULL'),
} as const;

const Type = z.enum(AI_TYPES).describe('What the feature does.');
const Version = z.int().min(1).describe('Latest active version; expected_version of a write.');

/** What a write sends back, so that it acts on what its caller has seen. */
export const ExpectedVersion = z
  .int()
  .min(1)
  .max(2_147_483_647)
  .describe('version as it was read; another is a conflict.');

/** ISO 639-1. */
export const LanguageCode = z.string().regex(/^[a-z]{2}$/);

/** What language detection runs on (contract, Run AI feature). */
export const DetectionContext = z
  .strictObject({
    type: z.literal('text').describe('Kind of input.'),
    text: z.string().min(1).max(4000).describe('Text whose language is asked for, 1 to 4,000 characters.'),
    default_language: LanguageCode.optional().describe('Answered where the text does not tell, such as en.'),
  })
  .describe('What the feature runs on.');

/** Contract, AI feature. Instructions, credentials and configuration are not stored here at all. */
export const AiFeatureView = f.defineView({
  ...metadata,
  name: 'AiFeature',
  fields: {
    id: f.ownId('a', AiFeatureId),
    name: f.text('a.name', 200, 'Name.'),
    type: f.column('a.type', Type),
    enabled: f.column('a.enabled', z.boolean().describe('Whether it is in use.')),
    version: f.column('a.active_version', Version),
  },
});

/** The same in the list, with whether this credential could execute the feature; never a grant by itself. */
export const AiFeatureListView = f.defineView({
  ...metadata,
  name: 'AiFeatureEntry',
  fields: {
    ...AiFeatureView.fields,
    application_execution: f.derived(
      z
        .strictObject({
          available: z.boolean().describe('Whether ai_feature_execute takes it.'),
          reason: z.enum(['adapter_not_available', 'scope_denied']).optional().describe('Why it is not available.'),
          context_types: z.array(z.literal('text')).optional().describe('Kinds of input it takes.'),
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

/** A hit of the settings search. */
export const AiFeatureMatchView = f.defineView({
  ...metadata,
  name: 'AiFeatureMatch',
  fields: {
    path: f.derived(z.string().max(200).describe('Settings path of the item.'), ['a.id'], ([id], { website }) => {
      return `/ai/features/${AiFeatureId.format(website, String(id))}`;
    }),
    label: f.text('a.name', 200, 'Name.'),
    type: f.column('a.type', Type),
    version: f.column('a.active_version', Version),
  },
});
