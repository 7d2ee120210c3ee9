import { z } from 'zod';
import { AiFeatureId } from '../src/core/ids.js';
import { defineSkill } from '../src/core/skill.js';
import { DetectionContext, ExpectedVersion } from '../src/views/ai-feature.js';
export default defineSkill({
    name: 'offline_language_detection',
    title: 'Detect the language of a text',
    description: 'Run a language_detection feature on the text that you send. No other data is read.',
    tags: ['ai-features', 'language'],
    tools: ['ai_feature_execute'],
    input: z.strictObject({
        feature_id: AiFeatureId.schema,
        expected_version: ExpectedVersion,
        context: DetectionContext,
    }),
    examples: [
        {
            feature_id: 'aif_1_1_5',
            expected_version: 3,
            context: { type: 'text', text: 'Wo bleibt meine Bestellung?', default_language: 'en' },
        },
    ],
    run: ({ input, call }) => call('ai_feature_execute', input),
});
//# sourceMappingURL=offline-language-detection.js.map