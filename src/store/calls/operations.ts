import { Failure } from '../../core/failures.ts';
import type { Receipt } from '../../core/reads.ts';
import { sql } from '../../core/sql.ts';
import { guard } from './guard.ts';
import { guarded, type ReadSession } from './read.ts';

/** A receipt of this credential and revision on the call's website. Any other is not found. */
export async function readOperation(session: ReadSession, operationId: string): Promise<Receipt> {
  const { authority, website } = session;
  const [row] = await guarded<{ operation: string | null; status: Receipt['status'] }>(
    session,
    sql`o.operation, o.status FROM ${guard(authority)} LEFT JOIN gateway.operation o
      ON guard.ok AND o.operation_id = ${operationId} AND o.credential_id = ${authority.credentialId}
     AND o.revision = ${authority.revision} AND o.tenant = ${website.tenant} AND o.site = ${website.site}`,
  );
  if (!row?.operation) throw new Failure('not_found');
  return { operation: row.operation, status: row.status };
}
