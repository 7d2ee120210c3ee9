import { z } from 'zod';
import { accepts } from '../../src/core/accepted-values.js';
import { example } from '../../src/core/example.js';
import { Failure } from '../../src/core/failures.js';
import { OperationId, WebsiteId } from '../../src/core/ids.js';
import { coverage, data, defineTool } from '../../src/core/tool.js';
import { WRITES, WRITES_BY_POLICY } from '../../src/writes/all.js';
const KEY_EXPECTED = '1 to 128 printable ASCII characters without spaces';
const refused = (parameter, expected, code = 'invalid_parameter') => new Failure('invalid_parameter', { errors: [{ parameter, code, expected }] });
export default defineTool({
    name: 'operation_get',
    title: 'Read a write receipt',
    summary: 'Status of an earlier write of this credential. To see what it set, read the record again.',
    rest: 'GET /api/v1/operations/{operation_id}',
    effect: 'read',
    tag: 'Discovery',
    scopes: [],
    restrictions: 'none',
    input: {
        path: {
            operation_id: example(`op_${'0a1b2c3d'.repeat(8)}`, OperationId.optional().describe('Id of the write. Absent: idempotency_key names the write.')),
        },
        query: {
            website_id: WebsiteId.describe('Website of the write.'),
            idempotency_key: accepts(z.string().regex(/^[!-~]{1,128}$/), KEY_EXPECTED)
                .optional()
                .describe('Key of the write, if you lack the id. Of several writes, the newest. Over REST, without an id in the path.'),
        },
    },
    output: data({
        operation_id: OperationId,
        website_id: WebsiteId,
        operation: z
            .enum([...WRITES, ...WRITES_BY_POLICY].map(({ name }) => name))
            .describe('Name of the write operation.'),
        status: z
            .enum(['pending', 'acknowledged', 'outcome_unknown', 'rejected', 'lapsed'])
            .describe('Status of the write. pending: it runs, or waits for a person. acknowledged: its result is known. outcome_unknown: nobody knows whether it has taken effect. rejected: by a person. lapsed: nobody approved it in time.'),
        coverage: coverage('gateway_command_receipt'),
    }),
    async handle({ input: { operation_id: id, website_id, idempotency_key: key }, read, gateway }) {
        if (id !== undefined && key !== undefined)
            throw refused('idempotency_key', 'no key, because the id names the write');
        const named = id !== undefined ? { id } : key !== undefined ? { key } : undefined;
        if (named === undefined)
            throw refused('idempotency_key', `${KEY_EXPECTED}, or the id of the write`, 'missing');
        const receipt = await read.operation(named);
        // A credential that has lost the grant for a write must not see that write's receipts.
        if (!gateway.operations().some(({ operation }) => operation === receipt.operation))
            throw new Failure('not_found');
        return { data: { website_id, ...receipt, coverage: 'gateway_command_receipt' } };
    },
});
//# sourceMappingURL=operation-get.js.map