import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { jsonSchema } from '../../src/core/json-schema.js';
import { writtenBy } from '../../src/core/texts.js';
import { coverage, data, defineTool, inWebsite } from '../../src/core/tool.js';
import { AiFeatureView } from '../../src/views/ai-feature.js';
import { itemOf, PlanChanges, SettingsPath } from '../../src/views/settings.js';
const DRAFT = 'https://json-schema.org/draft/2020-12/schema';
const Schema = writtenBy('service', z.record(z.string(), z.unknown()));
export default defineTool({
    name: 'config_schema',
    title: 'Read a configuration schema',
    summary: 'JSON Schema of a configuration item, and of the changes that config_plan accepts.',
    rest: 'GET /api/v1/settings/schema',
    effect: 'read',
    tag: 'Configuration',
    scopes: ['config_read'],
    restrictions: 'none',
    input: { query: { ...inWebsite, path: SettingsPath } },
    output: data({
        path: SettingsPath,
        schema: example({ type: 'object', properties: { name: { type: 'string', maxLength: 200 } } }, Schema.describe('JSON Schema (version 2020-12) of one configuration item.')),
        plan_schema: example({ type: 'object', properties: { enabled: { type: 'boolean' } } }, Schema.describe('JSON Schema (version 2020-12) of the member changes that config_plan accepts.')),
        coverage: coverage('configuration_schema'),
    }),
    async handle({ input, read }) {
        const item = itemOf(input.path, input.website_id);
        if (item !== undefined)
            await read.one(AiFeatureView, item);
        return {
            data: {
                path: input.path,
                schema: { $schema: DRAFT, ...jsonSchema(AiFeatureView.schema, 'output') },
                plan_schema: { $schema: DRAFT, ...jsonSchema(PlanChanges, 'input'), minProperties: 1 },
                coverage: 'configuration_schema',
            },
        };
    },
});
//# sourceMappingURL=config-schema.js.map