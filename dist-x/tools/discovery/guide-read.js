import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { Failure } from '../../src/core/failures.js';
import { GUIDE_NAMES } from '../../src/core/guides.js';
import { ServiceText } from '../../src/core/texts.js';
import { defineTool } from '../../src/core/tool.js';
const GuideName = z
    .enum(GUIDE_NAMES)
    .describe('Name of a guide. gateway_context lists the names of the guides that the credential may read.');
export default defineTool({
    name: 'guide_read',
    title: 'Read a guide',
    summary: 'A guide in Markdown: order of calls, meaning of missing fields, recovery from failures.',
    rest: 'GET /api/v1/guides/{guide}',
    effect: 'read',
    tag: 'Discovery',
    scopes: [],
    restrictions: 'none',
    input: { path: { guide: GuideName } },
    output: z.strictObject({
        guide: GuideName,
        mime_type: z.literal('text/markdown').describe('Media type of `content`.'),
        content: example('# Overview\n\nThis gateway gives an installed application access to stored data …', ServiceText.max(65_536).describe('Text of the guide, in Markdown (CommonMark).')),
        coverage: z.literal('current_installation_guidance').describe('What was read.'),
    }),
    async handle({ input, gateway }) {
        const content = gateway.guide(input.guide);
        if (content === null)
            throw new Failure('not_found');
        return { guide: input.guide, mime_type: 'text/markdown', content, coverage: 'current_installation_guidance' };
    },
});
//# sourceMappingURL=guide-read.js.map