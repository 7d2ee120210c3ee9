import { sql } from '../../core/sql.js';
import { sqlState } from '../driver/errors.js';
const clockOf = async (db, answer) => {
    const [row] = await db.query(sql `SELECT ${answer} AS now`);
    return row?.now ?? Date.now();
};
/** Appends a batch. Returns PostgreSQL's clock in Unix milliseconds. A repeated batch is appended only once. */
export const appendAudit = (db, { writer, heads, records, blocks, named, seals, sums }) => clockOf(db, sql `gateway.append_audit(${writer}::uuid, ${heads}::text::json, ${records}::text::gateway.audit_row[],
                             ${blocks}::text::json, ${named}::text::json, ${seals}::text::json, ${sums}::text::json)`);
/** Creates the partitions of the next days. Returns PostgreSQL's clock in Unix milliseconds. */
export const prepareAudit = (db, ahead) => clockOf(db, sql `gateway.prepare_audit(${ahead}::integer)`);
/** Drops the records of the oldest day, if it is over for more than `days` days. Returns the number of dropped days. */
export async function dropAudit(db, days) {
    const [row] = await db.query(sql `SELECT gateway.drop_audit(${days}::integer) AS dropped`);
    return row?.dropped ?? 0;
}
/** True if another process has sealed a record of the batch. PostgreSQL has then undone the whole batch. */
export const isSealedElsewhere = (error) => sqlState(error) === 'GW409';
/** True if a value of the batch is the cause, so that the batch would fail again. Class 54: it is too long for an index. */
export const isBadRecord = (error) => /^(2[23]|54)/.test(sqlState(error));
//# sourceMappingURL=append.js.map