import { z } from 'zod';
import { ServiceText } from '../../src/core/texts.ts';
import { coverage, data, defineTool, inWebsite } from '../../src/core/tool.ts';
import { AI_TYPES } from '../../src/views/ai-feature.ts';
import { AREA, PLATFORM_NUMBERS } from '../../src/views/settings.ts';

export default defineTool({
  name: 'config_catalog',
  title: 'List configuration areas',
  summary: 'Configuration areas that can be read, and the fields that config_plan can propose to change.',
  rest: 'GET /api/v1/settings/catalog',
  effect: 'read',
  tag: 'Configuration',
  scopes: ['config_read'],
  restrictions: 'none',
  input: { query: inWebsite },
  output: data({
    areas: z
      .array(
        z.strictObject({
          path: ServiceText.describe('Path for config_get and config_schema.'),
          title: ServiceText.describe('Name of the area.'),
          description: ServiceText.describe('Contents of the area.'),
          item_path: ServiceText.describe('Path template of one item.'),
          readable: z.boolean().describe('Whether config_get can read the area.'),
          plannable_fields: z.array(ServiceText).describe('Fields that config_plan takes.'),
          types: z.array(z.enum(AI_TYPES)).describe('Types of the items in the area.'),
        }),
      )
      .describe('Configuration areas.'),
    platforms: z
      .array(
        z.strictObject({
          id: z.int().describe('Value of platform_id.'),
          name: ServiceText.describe('Name of the platform.'),
        }),
      )
      .describe('Meaning of platform_id in saved responses.'),
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
        coverage: 'configuration_catalog' as const,
      },
    };
  },
});
