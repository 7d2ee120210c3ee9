import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { AiFeatureId } from '../../src/core/ids.js';
import { data, defineTool, ofWebsite } from '../../src/core/tool.js';
import { DetectionContext, ExpectedVersion, LanguageCode } from '../../src/views/ai-feature.js';
import { languageOf, RunDetection } from '../../src/writes/ai-feature-execute.js';
export default defineTool({
    name: RunDetection.name,
    title: 'Detect the language of a text',
    summary: 'Run a language_detection feature on the text that you send. No record changes. A retry with the same key returns the first result.',
    rest: 'POST /api/v1/ai/features/{feature_id}/execute',
    effect: 'write',
    performs: RunDetection,
    tag: 'AI features',
    scopes: ['ai_features_read', 'ai_execute'],
    restrictions: 'refused',
    author: 'none',
    idempotency: 'required',
    emits: [],
    errors: ['operation_conflict', 'adapter_not_available'],
    input: {
        path: { feature_id: AiFeatureId.schema },
        query: ofWebsite,
        body: {
            expected_version: ExpectedVersion,
            context: DetectionContext,
        },
    },
    output: data({
        feature_id: AiFeatureId.schema,
        version: example(3, z.int().min(1).describe('Version of the AI feature that ran.')),
        type: z.literal('language_detection').describe('Type of the AI feature that ran.'),
        output: z
            .strictObject({
            language: example('de', LanguageCode.nullable().describe('Detected language as an ISO 639-1 code. Without a detected language: the value of default_language, or null if the request had none.')),
        })
            .describe('Result of the AI feature.'),
    }),
    async handle({ input: { feature_id, expected_version, context }, perform }) {
        const detected = (await languageOf(context.text)) ?? context.default_language ?? null;
        const { version, language } = await perform({ feature: feature_id, expected_version, language: detected });
        return { data: { feature_id, version, type: 'language_detection', output: { language } } };
    },
});
//# sourceMappingURL=ai-feature-execute.js.map