import { expect } from 'vitest';
import { restOf, SITE, WRITES } from './commands.js';
let keys = 0;
export const freshKey = () => `approval-${++keys}`;
/** A credential whose writes a person must approve, all of them by default. */
export async function asker({ database, issue }, approve = WRITES, grant = {}) {
    const issued = await issue({ authors: ['opr_1_1_1'], ...grant });
    await database.sql `UPDATE gateway.credential SET approve = ${[...approve]} WHERE id = ${issued.credential}`;
    return issued;
}
export async function send({ ask }, { token }, command, key = freshKey()) {
    const { path, body } = restOf(command);
    const answer = await ask(path, { token, body, headers: { 'idempotency-key': key } });
    return {
        status: answer.status,
        code: answer.body?.code,
        id: String(answer.headers['x-gateway-operation-id'] ?? ''),
        replayed: answer.headers['idempotency-replayed'] === 'true',
        answer,
    };
}
/** Sends a write that must wait, and returns its id. */
export async function asked(gateway, by, command, key) {
    const { status, id } = await send(gateway, by, command, key);
    expect([status, id]).toEqual([202, expect.stringMatching(/^op_[a-f0-9]{64}$/)]);
    return id;
}
/** The status that operation_get tells. */
export async function statusOf({ ask }, { token }, id) {
    const { status, body } = await ask(`/api/v1/operations/${id}?website_id=${SITE}`, { token });
    return status === 200 ? body.data.status : String(status);
}
/** How many notes have this text, and how many receipts the journal of the website has. */
export async function effectsOf({ sql }, text) {
    const [row] = await sql `
    SELECT (SELECT count(*)::integer FROM platform.note WHERE text = ${text}) AS notes,
           (SELECT count(*)::integer FROM gateway.journal WHERE tenant = 1 AND site = 1) AS receipts`;
    return row ?? { notes: -1, receipts: -1 };
}
/** A visitor with a conversation, other than that of the notes. The tests erase the visitor. */
export async function visitorOf({ sql }) {
    const [row] = await sql `
    SELECT c.visitor_id AS visitor FROM platform.conversation c
     WHERE (c.tenant, c.site) = (1, 1) AND c.visitor_id <> 4 ORDER BY c.id DESC LIMIT 1`;
    return `vis_1_1_${row?.visitor}`;
}
//# sourceMappingURL=approvals.js.map