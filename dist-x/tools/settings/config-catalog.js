import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { ServiceText } from '../../src/core/texts.js';
import { coverage, data, defineTool, inWebsite } from '../../src/core/tool.js';
import { AI_TYPES } from '../../src/views/ai-feature.js';
import { AREA, PLATFORM_NUMBERS } from '../../src/views/settings.js';
export default defineTool({
    name: 'config_catalog',
    title: 'List configuration areas',
    summary: 'Configuration areas that can be read, and the fields that config_plan accepts.',
    rest: 'GET /api/v1/settings/catalog',
    effect: 'read',
    tag: 'Configuration',
    scopes: ['config_read'],
    restrictions: 'none',
    input: { query: inWebsite },
    output: data({
        areas: example([
            {
                path: '/ai/features',
                title: 'AI features',
                description: 'Name, type, state and active version of the website’s AI features.',
                item_path: '/ai/features/{feature_id}',
                readable: true,
                plannable_fields: ['name', 'enabled'],
                types: ['autopilot'],
            },
        ], z
            .array(z.strictObject({
            path: ServiceText.describe('Settings path of the area. config_get and config_schema take this path.'),
            title: ServiceText.describe('Title of the area, for people.'),
            description: ServiceText.describe('Description of the contents of the area.'),
            item_path: ServiceText.describe('Template of the settings path of one item in the area.'),
            readable: z.boolean().describe('True if config_get can read the area.'),
            plannable_fields: z
                .array(ServiceText)
                .describe('Names of the fields that config_plan accepts for an item in the area.'),
            types: z.array(z.enum(AI_TYPES)).describe('Types that an item in the area can have.'),
        }))
            .describe('Configuration areas.')),
        platforms: example([{ id: -1, name: 'all' }], z
            .array(z.strictObject({
            id: z.int().describe('Number of the platform. A saved response has this number in platform_id.'),
            name: ServiceText.describe('Name of the platform.'),
        }))
            .describe('Platforms, with the number that saved responses use in platform_id.')),
        coverage: coverage('configuration_catalog'),
    }),
    async handle() {
        return {
            data: {
                areas: [
                    {
                        path: AREA,
                        title: 'AI features',
                        description: 'Name, type, state and active version of the website’s AI features.',
                        item_path: `${AREA}/{feature_id}`,
                        readable: true,
                        plannable_fields: ['name', 'enabled'],
                        types: [...AI_TYPES],
                    },
                ],
                platforms: [...PLATFORM_NUMBERS],
                coverage: 'configuration_catalog',
            },
        };
    },
});
//# sourceMappingURL=config-catalog.js.map