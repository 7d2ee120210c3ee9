import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { Failure } from '../../src/core/failures.js';
import { AiFeatureId } from '../../src/core/ids.js';
import { coverage, defineTool, inWebsite, listOf, NextCursor } from '../../src/core/tool.js';
import { AiFeatureView } from '../../src/views/ai-feature.js';
import { itemOf, SettingsPath } from '../../src/views/settings.js';
export default defineTool({
    name: 'config_get',
    title: 'Read configuration',
    summary: 'AI feature metadata at a settings path: a page of the area, or one item.',
    rest: 'GET /api/v1/settings/item',
    effect: 'read',
    tag: 'Configuration',
    scopes: ['config_read'],
    restrictions: 'refused',
    page: { cursor: AiFeatureId, limit: 25 },
    input: { query: { ...inWebsite, path: SettingsPath } },
    output: z.strictObject({
        data: z
            .union([
            z.strictObject({
                path: SettingsPath,
                items: listOf(AiFeatureView.schema).describe('AI features, ordered by ascending id.'),
                truncated: example(false, z.boolean().describe('True if more features follow on a next page.')),
                next_cursor: NextCursor,
                coverage: coverage('configuration_metadata'),
            }),
            z.strictObject({
                path: SettingsPath,
                item: AiFeatureView.schema.describe('The AI feature.'),
                coverage: coverage('configuration_metadata'),
            }),
        ])
            .describe('A page of the area if the request names the area. One item if the request names an item.'),
    }),
    async handle({ input, read }) {
        const { path, website_id, cursor, limit } = input;
        const coverage = 'configuration_metadata';
        const item = itemOf(path, website_id);
        if (item !== undefined) {
            if (cursor !== undefined)
                throw new Failure('invalid_cursor');
            return { data: { path, item: await read.one(AiFeatureView, item), coverage } };
        }
        const { rows, next_cursor } = await read.page(AiFeatureView, { cursor, limit });
        return { data: { path, items: rows, truncated: next_cursor !== null, next_cursor, coverage } };
    },
});
//# sourceMappingURL=config-get.js.map