import { AiFeatureId, parseId } from '../src/core/ids.js';
import { defineResource } from '../src/core/resource.js';
export default defineResource({
    uri: 'gateway://config/ai/features/{feature_id}',
    name: 'config-ai-feature',
    title: 'AI feature',
    description: 'One AI feature: name, type, state and active version.',
    mimeType: 'application/json',
    tool: 'config_get',
    input: ({ feature_id }) => {
        const id = AiFeatureId.schema.safeParse(feature_id);
        const website_id = id.success ? parseId(id.data)?.website : undefined;
        return website_id === undefined ? undefined : { website_id, path: `/ai/features/${feature_id}` };
    },
});
//# sourceMappingURL=config-ai-feature.js.map