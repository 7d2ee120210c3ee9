import { z } from 'zod';
import { Failure } from '../../src/core/failures.ts';
import { OperationId, WebsiteId } from '../../src/core/ids.ts';
import { coverage, data, defineTool } from '../../src/core/tool.ts';

export default defineTool({
  name: 'operation_get',
  title: 'Read a write receipt',
  summary: 'Status of an earlier write of this credential; it never proves the native result.',
  rest: 'GET /api/v1/operations/{operation_id}',
  effect: 'read',
  tag: 'Discovery',
  scopes: [],
  restrictions: 'none',
  input: {
    path: { operation_id: OperationId },
    query: { website_id: WebsiteId.describe('Website that the write was made on.') },
  },
  output: data({
    operation_id: OperationId,
    website_id: WebsiteId,
    operation: z
      .enum(['visitor_note_add', 'conversation_disposition_set', 'ai_feature_execute', 'config_plan'])
      .describe('The write.'),
    status: z
      .enum(['pending', 'acknowledged', 'outcome_unknown'])
      .describe('outcome_unknown: the write may or may not have taken effect.'),
    coverage: coverage('gateway_command_receipt'),
  }),
  async handle({ input, read, gateway }) {
    const receipt = await read.operation(input.operation_id);
    // Whoever may not make the write any more does not hear of it either (contract, Discovery).
    if (!gateway.operations().some(({ operation }) => operation === receipt.operation)) throw new Failure('not_found');
    return { data: { ...input, ...receipt, coverage: 'gateway_command_receipt' } };
  },
});
