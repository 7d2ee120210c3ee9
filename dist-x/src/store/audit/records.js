import { sql } from '../../core/sql.js';
/** The columns of a StoredAudit. The time has milliseconds and ends with Z, and bytes are hexadecimal. */
export const AUDIT_COLUMNS = sql `
  to_char(a.time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS time, a.id, a.organization_id, a.website_id, a.app_id,
  a.installation_id, a.credential_id, a.person_id, a.client_name, a.client_version, a.address, a.surface, a.operation,
  to_json(a.targets) AS targets, a.count, a.outcome, a.status, a.units, a.duration_ms, a.request_id, a.trace_id,
  '\\x' || encode(a.input_digest, 'hex') AS input_digest, a.operation_id, a.replayed`;
/** Records of writes that wait for their seal: those with these ids, oldest first. */
export const readUnsealed = (db, ids) => db.read(sql `
    SELECT ${AUDIT_COLUMNS}, a.mark FROM gateway.audit a WHERE a.seq IS NULL AND a.id = ANY (${ids}::uuid[]) ORDER BY a.time, a.id`);
/** Ids of records, without `aside`, that wait for their seal for longer than `seconds`: their process was killed. */
export async function findUnsealed(db, seconds, limit, aside) {
    const rows = await db.read(sql `
    SELECT a.id FROM gateway.audit a WHERE a.seq IS NULL AND a.time < now() - make_interval(secs => ${seconds}::integer)
       AND a.id <> ALL (${aside}::uuid[])
     ORDER BY a.time LIMIT ${limit}`);
    return rows.map(({ id }) => id);
}
//# sourceMappingURL=records.js.map