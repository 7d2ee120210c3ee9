import { websiteKey } from '../../core/ids.js';
import { sql } from '../../core/sql.js';
import { repeated } from '../driver/repeated.js';
import { LEASE } from './ledger.js';
/** Prepares a reserved write. `busy`: another write changes the conversation. An ending: the write does not start. */
export async function prepareWriteBack(db, { operationId, website, author, command }) {
    const [, tenant = '', site = ''] = website.split('_');
    const key = websiteKey(tenant, site);
    const [row] = await repeated(() => db.query(sql `
      SELECT gateway.write_back_begin(${operationId}, ${key.tenant}, ${key.site}, ${command.operation},
        ${JSON.stringify(command)}::text::jsonb, ${author}::bigint, ${LEASE}::integer * interval '1 millisecond') AS prepared`));
    if (!row)
        throw new Error('the store did not prepare a write');
    return row.prepared;
}
/** Reads where to look for the effect of a write. Undefined if it never started, or if its source is paused or gone. */
export async function sentWriteBack(db, operationId) {
    const [row] = await db.read(sql `
    SELECT w.source, s.kind, s.account, s.address, s.api_url, s.api_token, w.target, o.operation
      FROM gateway.write_back w JOIN gateway.operation o USING (operation_id) JOIN gateway.source s ON s.id = w.source
     WHERE w.operation_id = ${operationId} AND s.api_token IS NOT NULL AND NOT s.paused`);
    return row;
}
/** Stores a note that the helpdesk has accepted. Returns the result of the write. */
export const storeSentNote = (db, operationId, { prefix, text, at }) => stored(db, sql `gateway.write_back_note(${operationId}, ${prefix}, ${text}, ${at}::timestamptz)`);
/** Stores a message that the helpdesk has accepted. Returns the result of the write. */
export const storeSentReply = (db, operationId, sent) => stored(db, sql `gateway.write_back_reply(${operationId}, ${sent.id}, ${sent.author ?? null}::text, ${sent.at}::timestamptz,
                                 ${sent.text}, ${sent.internal})`);
/** Stores a conversation as the helpdesk has it after a status or an assignment. Returns the result of the write. */
export const storeSentChange = (db, operationId, sent) => stored(db, sql `gateway.write_back_change(${operationId}, ${sent.status}, ${sent.operator ?? null}::text,
                                  ${sent.team ?? null}::text, ${sent.at ?? null}::timestamptz, ${sent.reassigned})`);
/** Stores the current disposition of a conversation in the helpdesk. Returns the result of the write. */
export const storeSentDisposition = (db, operationId, value) => stored(db, sql `gateway.write_back_disposition(${operationId}, ${value})`);
async function stored(db, call) {
    const [row] = await repeated(() => db.query(sql `SELECT ${call} AS done`));
    if (!row?.done)
        throw new Error('the record of a write is gone');
    return row.done;
}
/** Deletes the record of a write that had no effect. So the next write to the conversation need not wait. */
export async function forgetWriteBack(db, operationId) {
    await db.query(sql `DELETE FROM gateway.write_back WHERE operation_id = ${operationId}`);
}
//# sourceMappingURL=write-back.js.map