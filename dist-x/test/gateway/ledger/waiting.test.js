import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openTestGateway } from '../../support/gateway.js';
/**
 * TN-05: a write may wait for a lock. The write must still have the authority when it ends, and not only when it
 * starts.
 */
let gateway;
let writer;
let visitor;
beforeAll(async () => {
    gateway = await openTestGateway();
    const [row] = await gateway.database.sql `SELECT visitor_id AS id FROM platform.conversation
    WHERE tenant = 1 AND site = 1 AND visitor_id IS NOT NULL ORDER BY id LIMIT 1`;
    visitor = `vis_1_1_${row?.['id']}`;
});
afterAll(() => gateway.close());
beforeEach(async () => {
    writer = await gateway.issue();
    await gateway.database.sql `INSERT INTO gateway.native_author (credential_id, tenant, site, operator_id)
    SELECT ${writer.credential}, 1, 1, id FROM platform.operator WHERE tenant = 1 AND site = 1 AND enabled ORDER BY id LIMIT 1`;
});
const write = (key) => gateway.ask(`/api/v1/visitors/${visitor}/notes`, {
    token: writer.token,
    method: 'POST',
    body: { text: 'Waited for.' },
    headers: { 'idempotency-key': key },
});
const traces = async () => {
    const { sql } = gateway.database;
    const [notes] = await sql `SELECT count(*)::integer AS n FROM platform.note WHERE text = 'Waited for.'`;
    const [receipts] = await sql `SELECT count(*)::integer AS n FROM gateway.journal`;
    const [rows] = await sql `SELECT count(*)::integer AS n FROM gateway.operation`;
    return [notes?.['n'], receipts?.['n'], rows?.['n']];
};
/** Locks the journal of the website until `meanwhile` has committed. A running write waits for the journal. */
async function whileWaiting(meanwhile) {
    await gateway.database
        .sql `INSERT INTO gateway.journal_head (tenant, site, position) VALUES (1, 1, 0) ON CONFLICT DO NOTHING`;
    const before = await traces();
    let answer;
    await gateway.database.sql.begin(async (transaction) => {
        await transaction `SELECT FROM gateway.journal_head WHERE tenant = 1 AND site = 1 FOR UPDATE`;
        answer = write(`waiting-${writer.credential}`);
        await pause(300);
        await meanwhile();
    });
    return { answer: await answer, before };
}
it('TN-05 a scope withdrawn while it waits: refused, and nothing is left of it', async () => {
    const { sql } = gateway.database;
    const { answer, before } = await whileWaiting(() => sql `UPDATE gateway.credential SET scopes = array_remove(scopes, 'visitor_notes_write') WHERE id = ${writer.credential}`);
    expect([answer?.status, answer?.body.code]).toEqual([404, 'not_permitted']);
    expect(await traces()).toEqual(before);
});
it('TN-05 a token revoked while it waits: 401, and nothing is left of it', async () => {
    const { sql } = gateway.database;
    const { answer, before } = await whileWaiting(() => sql `UPDATE gateway.token SET revoked_at = now() WHERE credential_id = ${writer.credential}`);
    expect(answer?.status).toBe(401);
    expect(await traces()).toEqual(before);
});
it('TN-07 an author disabled while it waits: no author, and nothing is left of it', async () => {
    const { sql } = gateway.database;
    const { answer, before } = await whileWaiting(() => sql.begin(async (transaction) => {
        // Switch off the triggers that write receipts, because a receipt of this deletion would wait for the locked
        // journal.
        await transaction `SET LOCAL gateway.capture = 'off'`;
        await transaction `DELETE FROM gateway.native_author WHERE credential_id = ${writer.credential}`;
    }));
    expect([answer?.status, answer?.body.code]).toEqual([503, 'enrollment_unavailable']);
    expect(await traces()).toEqual(before);
});
it('a write that only waits is made', async () => {
    const { answer, before } = await whileWaiting(async () => undefined);
    expect(answer?.status).toBe(200);
    expect(await traces()).not.toEqual(before);
    await gateway.database.sql `DELETE FROM gateway.native_author WHERE credential_id = ${writer.credential}`;
    expect((await write(`waiting-${writer.credential}`)).body.code).toBe('enrollment_unavailable');
});
//# sourceMappingURL=waiting.test.js.map