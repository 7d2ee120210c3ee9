import { z } from 'zod';
import { WebsiteId } from '../../src/core/ids.ts';
import { ServiceText } from '../../src/core/texts.ts';
import { coverage, data, defineTool, inWebsite } from '../../src/core/tool.ts';

export default defineTool({
  name: 'capabilities_list',
  title: 'List granted operations',
  summary: 'Operations that this credential can call on a website now. Absent means not granted.',
  rest: 'GET /api/v1/capabilities',
  effect: 'read',
  tag: 'Discovery',
  scopes: [],
  restrictions: 'none',
  input: { query: inWebsite },
  output: data({
    website_id: WebsiteId,
    operations: z
      .array(
        z.strictObject({
          operation: ServiceText.describe('Tool name.'),
          method: ServiceText.describe('HTTP method.'),
          path: ServiceText.describe('Path template over REST.'),
          kind: z.enum(['read', 'write']).describe('Whether the operation reads or writes.'),
          scopes: z.array(ServiceText).describe('Scopes that every call needs.'),
          data_access: z.array(ServiceText).describe('Data-access flags that every call needs.'),
          unrestricted_required: z.boolean().describe('Whether restricted credentials are refused.'),
          author_required: z
            .boolean()
            .describe('Whether the operation needs a mapped operator, in whose name it writes.'),
        }),
      )
      .describe('Operations that this credential can call.'),
    authority_revision: z.int().describe('Revision of the credential; every change raises it.'),
    coverage: coverage('current_installation_capabilities'),
  }),
  async handle({ input, authority, gateway }) {
    return {
      data: {
        website_id: input.website_id,
        operations: gateway.operations(),
        authority_revision: authority.revision,
        coverage: 'current_installation_capabilities',
      },
    };
  },
});
