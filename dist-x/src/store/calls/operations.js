import { Failure } from '../../core/failures.js';
import { sql } from '../../core/sql.js';
import { guarded } from './guard.js';
/** Reads the newest receipt with one of the ids, from the caller's credential and revision on the call's website. */
export async function readOperation(access, ids) {
    const { authority, website } = access;
    const { proof, rows } = await guarded(access, sql `o.*`, sql `LEFT JOIN LATERAL (
      SELECT o.operation_id, o.operation, o.status FROM gateway.operation o
       WHERE guard.ok AND o.operation_id = ANY(${ids}::text[]) AND o.credential_id = ${authority.credentialId}
         AND o.revision = ${authority.revision} AND o.tenant = ${website.tenant} AND o.site = ${website.site}
       ORDER BY o.created_at DESC LIMIT 1) o ON true`);
    const [row] = rows;
    if (!row || row.operation_id === null)
        return { proof, answer: new Failure('not_found') };
    const { operation_id, operation, status } = row;
    return { proof, answer: { operation_id, operation, status } };
}
//# sourceMappingURL=operations.js.map