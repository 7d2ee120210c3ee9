import { z } from 'zod';
import { accepts } from '../../src/core/accepted-values.js';
import { Failure } from '../../src/core/failures.js';
import { WebsiteId } from '../../src/core/ids.js';
import { shared } from '../../src/core/parameters.js';
import { data, defineTool } from '../../src/core/tool.js';
import { Explained, ExplainedWebsite, explained, explainedWebsite } from '../../src/views/access.js';
const NAME_EXPECTED = 'the name of an operation, such as conversations_list';
const NAMES_EXPECTED = 'names of operations with a comma between two, such as search,operators';
export default defineTool({
    name: 'access_explain',
    title: 'Explain own access',
    summary: 'What the credential can call, what it lacks for the rest, and what to ask for.',
    rest: 'GET /api/v1/access',
    effect: 'read',
    tag: 'Discovery',
    toolsets: ['find'],
    scopes: [],
    restrictions: 'none',
    asksAbout: 'website_id',
    input: {
        query: {
            operation: accepts(z.string().regex(/^[a-z][a-z_]{0,63}$/), NAME_EXPECTED)
                .optional()
                .describe('Name of one operation. Use operations.'),
            operations: accepts(z.string().regex(/^[a-z][a-z_]{0,63}(,[a-z][a-z_]{0,63}){0,19}$/), NAMES_EXPECTED)
                .optional()
                .describe('Names of up to 20 operations, comma-separated. Absent: every operation of the gateway.'),
            website_id: shared('website_id_to_explain', WebsiteId.optional().describe('Also tell whether this website is granted. Authors are then those of this website.')),
        },
    },
    output: data({
        operations: z.array(Explained).describe('Operations of the gateway, sorted by name.'),
        website: ExplainedWebsite.optional().describe('The website of website_id. Absent without it.'),
    }),
    async handle({ input, authority, read, gateway }) {
        const names = (input.operations ?? input.operation)?.split(',');
        const all = gateway.access();
        const asked = all.filter(({ operation }) => names?.includes(operation) ?? true);
        if (names?.some((name) => !all.some(({ operation }) => operation === name))) {
            const parameter = input.operations === undefined ? 'operation' : 'operations';
            const errors = [{ parameter, code: 'invalid_parameter', expected: NAME_EXPECTED }];
            throw new Failure('invalid_parameter', { errors });
        }
        const { website_id } = input;
        const everywhere = await read.authored();
        const authored = website_id === undefined ? everywhere : everywhere.filter((one) => one === website_id);
        const whole = authored.length === (website_id === undefined ? authority.websites.size : 1);
        const operations = asked.map((facts) => explained(facts, authored, whole));
        if (website_id === undefined)
            return { data: { operations } };
        return { data: { operations, website: explainedWebsite(website_id, authority.websites.has(website_id)) } };
    },
});
//# sourceMappingURL=access-explain.js.map