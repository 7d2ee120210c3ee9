import { Failure } from '../../core/failures.ts';
import type { Receipt } from '../../core/reads.ts';
import { sql } from '../../core/sql.ts';
import { guarded, type Proved } from './guard.ts';
import type { WebsiteAccess } from './read.ts';

/**
 * Reads the receipt of an operation. Finds only receipts of the caller's credential and revision on the call's website.
 */
export async function readOperation(access: WebsiteAccess, operationId: string): Promise<Proved<Receipt>> {
  const { authority, website } = access;
  const { proof, rows } = await guarded<{ operation: string | null; status: Receipt['status'] }>(
    access,
    sql`o.operation, o.status`,
    sql`LEFT JOIN gateway.operation o
      ON guard.ok AND o.operation_id = ${operationId} AND o.credential_id = ${authority.credentialId}
     AND o.revision = ${authority.revision} AND o.tenant = ${website.tenant} AND o.site = ${website.site}`,
  );
  const [row] = rows;
  if (!row?.operation) return { proof, answer: new Failure('not_found') };
  return { proof, answer: { operation: row.operation, status: row.status } };
}
