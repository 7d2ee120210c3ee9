import { z } from 'zod';
import { example } from '../../src/core/example.ts';
import { WebsiteId } from '../../src/core/ids.ts';
import { ServiceText } from '../../src/core/texts.ts';
import { coverage, data, defineTool, inWebsite } from '../../src/core/tool.ts';

export default defineTool({
  name: 'capabilities_list',
  title: 'List granted operations',
  summary: 'Operations that the credential can call on a website now. Others are not granted.',
  rest: 'GET /api/v1/capabilities',
  effect: 'read',
  tag: 'Discovery',
  scopes: [],
  restrictions: 'none',
  input: { query: inWebsite },
  output: data({
    website_id: WebsiteId,
    operations: example(
      [
        {
          operation: 'conversations_list',
          method: 'GET',
          path: '/api/v1/conversations',
          kind: 'read',
          scopes: ['conversation_read'],
          data_access: [],
          unrestricted_required: false,
          author_required: false,
        },
      ],
      z
        .array(
          z.strictObject({
            operation: ServiceText.describe('Name of the operation. The MCP tool has the same name.'),
            method: ServiceText.describe('HTTP method of the operation over REST.'),
            path: ServiceText.describe('Path template of the operation over REST.'),
            kind: z.enum(['read', 'write']).describe('Kind of the operation: read or write.'),
            scopes: z.array(ServiceText).describe('Scopes that every call of the operation needs.'),
            data_access: z.array(ServiceText).describe('Data-access flags that every call of the operation needs.'),
            unrestricted_required: z.boolean().describe('True if the operation refuses credentials with restrictions.'),
            author_required: z
              .boolean()
              .describe(
                'True if the operation writes in the name of an operator. This operator must be mapped to the credential.',
              ),
            approval_required: z.literal(true).optional().describe('True if a person must approve the write first.'),
          }),
        )
        .describe('Operations that the credential can call on the website now.'),
    ),
    authority_revision: z
      .int()
      .describe('Revision of the credential. Every change of the credential raises the revision.'),
    coverage: coverage('current_installation_capabilities'),
  }),
  async handle({ input: { website_id }, authority: { revision: authority_revision }, gateway }) {
    const coverage = 'current_installation_capabilities';
    return { data: { website_id, operations: gateway.operations(), authority_revision, coverage } };
  },
});
