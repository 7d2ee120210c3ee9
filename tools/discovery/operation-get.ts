import { z } from 'zod';
import { Failure } from '../../src/core/failures.ts';
import { OperationId, WebsiteId } from '../../src/core/ids.ts';
import { coverage, data, defineTool } from '../../src/core/tool.ts';
import { WRITES } from '../../src/writes/all.ts';

export default defineTool({
  name: 'operation_get',
  title: 'Read a write receipt',
  summary: 'Status of an earlier write of this credential. The status does not show what the write changed.',
  rest: 'GET /api/v1/operations/{operation_id}',
  effect: 'read',
  tag: 'Discovery',
  scopes: [],
  restrictions: 'none',
  input: {
    path: { operation_id: OperationId },
    query: { website_id: WebsiteId.describe('Website of the write.') },
  },
  output: data({
    operation_id: OperationId,
    website_id: WebsiteId,
    operation: z.enum(WRITES.map(({ name }) => name)).describe('Name of the write operation.'),
    status: z
      .enum(['pending', 'acknowledged', 'outcome_unknown'])
      .describe(
        'Status of the write. pending: the write is still running. acknowledged: the gateway knows the result of the write. outcome_unknown: the write has taken effect or not, and the gateway does not know which.',
      ),
    coverage: coverage('gateway_command_receipt'),
  }),
  async handle({ input, read, gateway }) {
    const receipt = await read.operation(input.operation_id);
    // A credential that has lost the grant for a write must not see the receipts of that write.
    if (!gateway.operations().some(({ operation }) => operation === receipt.operation)) throw new Failure('not_found');
    return { data: { ...input, ...receipt, coverage: 'gateway_command_receipt' } };
  },
});
