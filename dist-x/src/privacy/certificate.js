import { sql } from '../core/sql.js';
export const BACKUPS = 'Backups, write-ahead logs and replicas from before this time still hold the person until they expire. After restoring such a backup, run: gateway restored --yes --erasures FILE';
export async function findErasure(db, tenant, subject) {
    const [row] = await db.query(sql `
    SELECT id, kind, organization_id, subject, subject_digest, counts, finished_at IS NOT NULL AS finished,
           to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at
      FROM gateway.erasure WHERE tenant = ${tenant} AND subject = ${subject}
     ORDER BY finished_at DESC NULLS FIRST LIMIT 1`);
    return row;
}
export const certificateOf = (row) => ({
    erasure_id: row.id,
    time: row.created_at,
    kind: row.kind,
    organization_id: row.organization_id,
    subject_digest: row.subject_digest,
    counts: row.counts,
    backups: BACKUPS,
    dry_run: false,
});
//# sourceMappingURL=certificate.js.map