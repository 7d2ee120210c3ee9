import { z } from 'zod';
import { Failure } from '../../src/core/failures.ts';
import { GUIDE_NAMES } from '../../src/core/guides.ts';
import { ServiceText } from '../../src/core/texts.ts';
import { defineTool } from '../../src/core/tool.ts';

const GuideName = z.enum(GUIDE_NAMES).describe('Name of a guide, from gateway_context.');

export default defineTool({
  name: 'guide_read',
  title: 'Read a guide',
  summary: 'A guide in Markdown: which operations to call and in which order, what masks mean, how to recover.',
  rest: 'GET /api/v1/guides/{guide}',
  effect: 'read',
  tag: 'Discovery',
  scopes: [],
  restrictions: 'none',
  input: { path: { guide: GuideName } },
  output: z.strictObject({
    guide: GuideName,
    mime_type: z.literal('text/markdown').describe('Media type of content.'),
    content: ServiceText.max(65_536).describe('Text of the guide in CommonMark.'),
    coverage: z.literal('current_installation_guidance').describe('Guides that this installation may read.'),
  }),
  async handle({ input, gateway }) {
    const content = gateway.guide(input.guide);
    if (content === null) throw new Failure('not_found');
    return { guide: input.guide, mime_type: 'text/markdown', content, coverage: 'current_installation_guidance' };
  },
});
