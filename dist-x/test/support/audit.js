/** Every audit record, the oldest first. The members without a value are left out, and bytes are a flag. */
export async function auditOf({ sql }, where = {}) {
    const rows = await sql `SELECT * FROM gateway.audit_record ORDER BY time, id`;
    const wanted = Object.entries(where);
    return rows
        .filter((row) => wanted.every(([name, value]) => row[name] === value))
        .map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)));
}
const ALWAYS = ['time', 'id', 'duration_ms', 'writer', 'seq', 'kid', 'previous', 'digest', 'address', 'input_digest'];
/** Without the members that each record has anyhow. */
export const brief = (record) => Object.fromEntries(Object.entries(record ?? {}).filter(([name]) => !ALWAYS.includes(name)));
/** Deletes all audit records. */
export async function forgetAudit({ sql }) {
    await sql `DELETE FROM gateway.audit`;
    await sql `DELETE FROM gateway.audit_block`;
    await sql `DELETE FROM gateway.audit_target`;
}
//# sourceMappingURL=audit.js.map