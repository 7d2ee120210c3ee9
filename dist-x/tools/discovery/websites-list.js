import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { WebsiteId } from '../../src/core/ids.js';
import { named } from '../../src/core/json-schema.js';
import { ServiceText } from '../../src/core/texts.js';
import { defineTool } from '../../src/core/tool.js';
export default defineTool({
    name: 'websites_list',
    title: 'List granted websites',
    summary: 'Granted websites. Most operations need a website_id.',
    rest: 'GET /api/v1/websites',
    effect: 'read',
    tag: 'Discovery',
    scopes: ['website_read'],
    restrictions: 'none',
    input: {},
    output: z.strictObject({
        websites: z
            .array(named('Website', z.strictObject({
            website_id: WebsiteId,
            name: example('Larkspur Outfitters US', ServiceText.max(240).describe('Name of the website.')),
            time_zone: example('America/New_York', ServiceText.describe('Time zone of the website, as an IANA name. Reports use this time zone by default.')),
            environment: example('test', z.enum(['live', 'test']).describe('Environment of the credential: live or test.')),
        })))
            .describe('Websites that are granted to the credential.'),
    }),
    async handle({ authority, read }) {
        const websites = await read.websites();
        return {
            websites: websites.map(({ website_id, name, time_zone }) => ({
                ...{ website_id, name, time_zone },
                environment: authority.environment,
            })),
        };
    },
});
//# sourceMappingURL=websites-list.js.map