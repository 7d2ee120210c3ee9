import { AiFeatureId } from '../../src/core/ids.js';
import { coverage, data, defineTool, ofWebsite } from '../../src/core/tool.js';
import { AiFeatureView } from '../../src/views/ai-feature.js';
export default defineTool({
    name: 'ai_feature_get',
    title: 'Read an AI feature',
    summary: 'One AI feature: name, type, state and active version.',
    rest: 'GET /api/v1/ai/features/{feature_id}',
    effect: 'read',
    tag: 'AI features',
    scopes: ['ai_features_read'],
    restrictions: 'none',
    input: { path: { feature_id: AiFeatureId.schema }, query: ofWebsite },
    output: data({
        feature: AiFeatureView.schema.describe('The AI feature.'),
        coverage: coverage('active_version_metadata'),
    }),
    async handle({ input, read }) {
        return { data: { feature: await read.one(AiFeatureView, input.feature_id), coverage: 'active_version_metadata' } };
    },
});
//# sourceMappingURL=ai-feature-get.js.map