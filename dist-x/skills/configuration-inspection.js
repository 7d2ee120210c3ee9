import { z } from 'zod';
import { invalidCursor } from '../src/core/failures.js';
import { AiFeatureId, WebsiteId } from '../src/core/ids.js';
import { defineSkill } from '../src/core/skill.js';
import { AREA, SettingsPath } from '../src/views/settings.js';
export default defineSkill({
    name: 'configuration_inspection',
    title: 'Inspect configuration',
    description: 'Metadata of the AI features of a website: a page of features, or one feature.',
    tags: ['configuration', 'ai-features'],
    tools: ['config_get'],
    input: z.strictObject({
        website_id: WebsiteId,
        path: SettingsPath,
        limit: z
            .int()
            .min(1)
            .max(100)
            .default(25)
            .describe('Records per page. The range is 1 to 100, and the default is 25.'),
        cursor: AiFeatureId.schema
            .optional()
            .describe('The next_cursor of the previous artifact. Send a cursor only with the path /ai/features.'),
    }),
    examples: [
        { website_id: 'web_1_1', path: '/ai/features', limit: 25 },
        { website_id: 'web_1_1', path: '/ai/features/aif_1_1_3' },
    ],
    check: ({ path, cursor }) => {
        if (path !== AREA && cursor !== undefined)
            throw invalidCursor('cursor', `no cursor, or the path ${AREA}`);
    },
    run: ({ input, call }) => call('config_get', input),
});
//# sourceMappingURL=configuration-inspection.js.map