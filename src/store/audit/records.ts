import { type Fragment, sql } from '../../core/sql.ts';
import type { AuditRow } from '../calls/audit-records.ts';
import type { Database } from '../driver/postgres.ts';

/** A stored audit record, as its chain covers it. Members without a value are null. */
export interface StoredAudit extends Omit<AuditRow, 'at' | 'matches' | 'place'> {
  readonly time: string;
  readonly input_digest: string | null;
}

/** The columns of a StoredAudit. The time has milliseconds and ends with Z, and bytes are hexadecimal. */
export const AUDIT_COLUMNS: Fragment = sql`
  to_char(a.time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS time, a.id, a.organization_id, a.website_id, a.app_id,
  a.installation_id, a.credential_id, a.person_id, a.client_name, a.client_version, a.address, a.surface, a.operation,
  to_json(a.targets) AS targets, a.count, a.outcome, a.status, a.units, a.duration_ms, a.request_id, a.trace_id,
  '\\x' || encode(a.input_digest, 'hex') AS input_digest, a.operation_id, a.replayed`;

export interface UnsealedAudit extends StoredAudit {
  readonly mark: string | null;
}

/** Records of writes that wait for their seal: those with these ids, oldest first. */
export const readUnsealed = (db: Database, ids: readonly string[]): Promise<UnsealedAudit[]> =>
  db.read<UnsealedAudit>(sql`
    SELECT ${AUDIT_COLUMNS}, a.mark FROM gateway.audit a WHERE a.seq IS NULL AND a.id = ANY (${ids}::uuid[]) ORDER BY a.time, a.id`);

/** Ids of records, without `aside`, that wait for their seal for longer than `seconds`: their process was killed. */
export async function findUnsealed(
  db: Database,
  seconds: number,
  limit: number,
  aside: readonly string[],
): Promise<string[]> {
  const rows = await db.read<{ id: string }>(sql`
    SELECT a.id FROM gateway.audit a WHERE a.seq IS NULL AND a.time < now() - make_interval(secs => ${seconds}::integer)
       AND a.id <> ALL (${aside}::uuid[])
     ORDER BY a.time LIMIT ${limit}`);
  return rows.map(({ id }) => id);
}
