import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { Rfc3339Time } from '../../src/core/rfc3339.js';
import { data, defineTool, listOf, NextCursor } from '../../src/core/tool.js';
import { AuditName, AuditRecordSchema, AuditTarget } from '../../src/views/audit.js';
export default defineTool({
    name: 'audit_list',
    title: 'List own calls',
    summary: 'Audit records of the calls of this credential, newest first. A page can be empty although more follow.',
    rest: 'GET /api/v1/audit',
    effect: 'read',
    tag: 'Audit',
    scopes: [],
    restrictions: 'none',
    page: { cursor: z.string().min(1).max(200), limit: 25 },
    input: {
        query: {
            operation: AuditName.optional().describe('Name of the operation.'),
            target: example('ctc_1_1_89', AuditTarget.optional().describe('Id of a record.')),
            outcome: AuditName.optional().describe('ok, or a failure code.'),
            from: Rfc3339Time.optional().describe('At or after this time.'),
            to: Rfc3339Time.optional().describe('Before this time.'),
        },
    },
    output: data({ records: listOf(AuditRecordSchema).describe('Records, newest first.'), next_cursor: NextCursor }),
    async handle({ input: { limit, cursor, ...filter }, read }) {
        return { data: await read.audit(filter, { limit, cursor }) };
    },
});
//# sourceMappingURL=audit-list.js.map