import { z } from 'zod';
import { accepts } from '../core/accepted-values.js';
import { example } from '../core/example.js';
import { AiFeatureId } from '../core/ids.js';
import { named } from '../core/json-schema.js';
import { raw } from '../core/sql.js';
import { ServiceText } from '../core/texts.js';
import * as f from '../core/view.js';
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
];
/** The only type that the gateway executes. It needs only the text in the request and no AI provider. */
const EXECUTABLE = 'language_detection';
const metadata = {
    table: 'platform.ai_feature',
    alias: 'a',
    id: AiFeatureId,
    order: 'asc',
    // The metadata describes the active version, so a feature without one is hidden.
    visible: raw('a.active_version IS NOT NULL'),
};
const Type = named('AiFeatureType', z.enum(AI_TYPES).describe('Type of the AI feature.'));
const Version = example(3, z.int().min(1).describe('Number of the active version. Send it as expected_version in a write.'));
/** The feature version that the caller has read. A write fails if another version is active now. */
export const ExpectedVersion = example(3, z
    .int()
    .min(1)
    .max(2_147_483_647)
    .describe('Version that you read. The write fails if another version of the feature is active now.'));
/** ISO 639-1. */
export const LanguageCode = accepts(z.string().regex(/^[a-z]{2}$/), 'two small letters such as en');
export const DetectionContext = named('DetectionContext', z
    .strictObject({
    type: z.literal('text').describe('Kind of the input. The only kind is text.'),
    text: example('Wo ist mein Paket?', z.string().min(1).max(4000).describe('Text whose language is detected. The length is 1 to 4,000 characters.')),
    default_language: example('en', LanguageCode.optional().describe('Language if none is detected. The value is an ISO 639-1 code. Absent: the answer is null in this case.')),
})
    .describe('Input of the AI feature.'));
/** Metadata only. Instructions, provider credentials and settings are not in the database. */
export const AiFeatureView = f.defineView({
    ...metadata,
    name: 'AiFeature',
    fields: {
        id: f.ownId('a', AiFeatureId),
        name: f.text('a.name', 200, 'Name of the AI feature.', { writer: 'service', example: 'Language detection' }),
        type: f.column('a.type', Type, { example: 'language_detection' }),
        enabled: f.column('a.enabled', z.boolean().describe('True if the AI feature is in use.')),
        version: f.column('a.active_version', Version),
    },
});
export const AiFeatureListView = f.defineView({
    ...metadata,
    name: 'AiFeatureEntry',
    fields: {
        ...AiFeatureView.fields,
        application_execution: f.derived(z
            .strictObject({
            available: example(false, z.boolean().describe('True if the credential can run the AI feature with ai_feature_execute.')),
            reason: z
                .enum(['adapter_not_available', 'scope_denied'])
                .optional()
                .describe('Why the credential cannot run the AI feature. Absent if the credential can run the feature.'),
            context_types: z
                .array(z.literal('text'))
                .optional()
                .describe('Kinds of input that the AI feature takes. Absent if the credential cannot run the feature.'),
        })
            .describe('Tells whether the credential can run the AI feature.'), ['a.type'], ([type], { grants }) => {
            if (type !== EXECUTABLE)
                return { available: false, reason: 'adapter_not_available' };
            if (!grants.scopes.has('ai_execute'))
                return { available: false, reason: 'scope_denied' };
            return { available: true, context_types: ['text'] };
        }),
    },
});
export const AiFeatureMatchView = f.defineView({
    ...metadata,
    name: 'AiFeatureMatch',
    fields: {
        path: f.derived(ServiceText.max(200).describe('Settings path of the AI feature. config_get, config_schema and config_plan take this path.'), ['a.id'], ([id], { website }) => {
            return `/ai/features/${AiFeatureId.format(website, String(id))}`;
        }, { example: '/ai/features/aif_1_1_4' }),
        label: f.text('a.name', 200, 'Name of the AI feature.', { writer: 'service', example: 'Live translation' }),
        type: f.column('a.type', Type, { example: 'translation' }),
        version: f.column('a.active_version', Version),
    },
});
//# sourceMappingURL=ai-feature.js.map