import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditOf, brief } from '../../support/audit.js';
import { gateway as cli, cliDatabase, document } from '../../support/cli.js';
import { openTestGateway } from '../../support/gateway.js';
import { freshKey, statusOf } from '../../support/ledger/approvals.js';
import { rpc } from '../../support/surfaces/mcp.js';
/** A public reply waits for a person, unless the policy says otherwise. */
const CONVERSATION = 'cnv_1_1_2';
const REPLY = ['conversation_reply'];
let gateway;
let by;
beforeAll(async () => {
    gateway = await openTestGateway('demo', await cliDatabase('demo'), undefined, {}, undefined, undefined, true);
    by = await issue();
});
afterAll(() => gateway.close());
const issue = (grant = {}) => gateway.issue({ authors: ['opr_1_1_1'], write: REPLY, ...grant });
async function send(reply, { token } = by, key = freshKey()) {
    const path = `/api/v1/conversations/${CONVERSATION}/replies`;
    const { status, headers, body } = await gateway.ask(path, {
        token,
        body: reply,
        headers: { 'idempotency-key': key },
    });
    return { status, body, location: headers['location'], id: String(headers['x-gateway-operation-id'] ?? ''), key };
}
const said = (text, visibility = 'public') => ({ text, visibility });
async function stored(text) {
    const rows = await gateway.database.sql `SELECT FROM platform.message WHERE text = ${text}`;
    return rows.length;
}
const updatedAt = async () => (await gateway.ask(`/api/v1/conversations/${CONVERSATION}`, { token: by.token })).body.data.conversation.updated_at;
describe('a public reply', () => {
    it('waits, and the same call returns its message once somebody has approved it', async () => {
        const first = await send(said('May I?'));
        expect([first.status, first.location, await stored('May I?')]).toEqual([202, `/console/approvals/${first.id}`, 0]);
        expect(await statusOf(gateway, by, first.id)).toBe('pending');
        expect(await document('approvals', 'show', first.id)).toMatchObject({
            ...{ operation: 'conversation_reply', state: 'pending', target: CONVERSATION },
            command: { text: 'May I?', visibility: 'public' },
        });
        await document('approvals', 'approve', first.id);
        expect(await stored('May I?')).toBe(1);
        const again = await send(said('May I?'), by, first.key);
        expect([again.status, again.id]).toEqual([200, first.id]);
        expect(again.body.data.message_id).toMatch(/^msg_1_1_\d+$/);
        expect(await stored('May I?')).toBe(1);
        // The record of the repeated call can be there already.
        const records = (await auditOf(gateway.database, { operation_id: first.id })).map(brief);
        expect(records.filter(({ replayed }) => replayed !== true)).toMatchObject([
            { surface: 'rest', operation: 'conversation_reply', outcome: 'ok', status: 202, targets: [CONVERSATION] },
            { surface: 'cli', operation: 'approvals approve', outcome: 'ok', status: 200, targets: [CONVERSATION] },
        ]);
    });
    it('waits over MCP, and tells the page', async () => {
        const input = { conversation_id: CONVERSATION, ...said('Over MCP'), idempotency_key: freshKey() };
        const { result } = (await rpc(gateway.port, by.token, 'tools/call', { name: 'conversation_reply', arguments: input })).body;
        expect(result.structuredContent.data.data).toMatchObject({ operation: 'conversation_reply', status: 'pending' });
        expect(JSON.stringify(result.content)).toContain('/console/approvals/op_');
        expect(await stored('Over MCP')).toBe(0);
    });
    it('is rejected, or lapses with any change of the policy', async () => {
        const one = await send(said('No'));
        await document('approvals', 'reject', one.id);
        expect((await send(said('No'), by, one.key)).body.code).toBe('approval_rejected');
        const changing = await issue();
        const other = await send(said('Too late'), changing);
        await document('credential', 'update', changing.credential, '--without-approval', 'conversation_reply', '--yes');
        await expect(document('approvals', 'approve', other.id)).rejects.toThrow('lapsed');
        expect([await stored('No'), await stored('Too late')]).toEqual([0, 0]);
        // The policy of this moment lets the next reply through.
        expect((await send(said('Now'), changing)).status).toBe(200);
        await document('credential', 'update', changing.credential, '--clear', 'write');
        expect((await send(said('Gone'), changing)).body.code).toBe('not_found');
    });
    it('is compared with the conversation when it is approved', async () => {
        const stale = { ...said('Stale'), if_updated_at: await updatedAt() };
        const held = await send(stale);
        const fresh = await send(said('Meanwhile', 'internal'));
        expect([held.status, fresh.status]).toEqual([202, 200]);
        const decided = await cli('approvals', 'approve', held.id);
        expect(decided.stdout).toContain('is approved, but had no effect: operation_conflict');
        expect((await send(stale, by, held.key)).body.code).toBe('operation_conflict');
        expect(await stored('Stale')).toBe(0);
        const timely = await send({ ...said('Timely'), if_updated_at: await updatedAt() });
        await document('approvals', 'approve', timely.id);
        expect(await stored('Timely')).toBe(1);
    });
    it('lapses when the conversation is erased', async () => {
        const { sql } = gateway.database;
        const held = await send(said('To nobody'));
        await sql `UPDATE platform.conversation SET external_id = 'erased:x' WHERE (tenant, site, id) = (1, 1, 2)`;
        await sql `UPDATE platform.conversation SET external_id = 'back' WHERE (tenant, site, id) = (1, 1, 2)`;
        await expect(document('approvals', 'approve', held.id)).rejects.toThrow('lapsed');
        expect(await stored('To nobody')).toBe(0);
    });
    it('takes effect once, however often the call is repeated before and after the decision', async () => {
        const held = await send(said('Only once'));
        const repeated = () => Promise.all(Array.from({ length: 20 }, () => send(said('Only once'), by, held.key)));
        expect(new Set((await repeated()).map(({ status }) => status))).toEqual(new Set([202]));
        await document('approvals', 'approve', held.id);
        expect(new Set((await repeated()).map(({ status }) => status))).toEqual(new Set([200]));
        expect(await stored('Only once')).toBe(1);
    });
});
describe('what need not wait', () => {
    it('is an internal reply, and a public one whose policy says so', async () => {
        expect((await send(said('Between us', 'internal'))).status).toBe(200);
        const free = await issue({ withoutApproval: REPLY });
        expect((await send(said('At once'), free)).status).toBe(200);
        expect([await stored('Between us'), await stored('At once')]).toEqual([1, 1]);
    });
    it('waits too, if the policy wants an approval of the operation', async () => {
        const all = await issue({ write: ['conversation_reply', 'conversation_status_set'] });
        await document('credential', 'update', all.credential, '--approve', 'conversation_reply,conversation_status_set');
        expect((await send(said('Also internal', 'internal'), all)).status).toBe(202);
        const { status } = await gateway.ask(`/api/v1/conversations/${CONVERSATION}/status`, {
            ...{ token: all.token, body: { status: 'closed' }, headers: { 'idempotency-key': freshKey() } },
        });
        expect(status).toBe(202);
    });
});
//# sourceMappingURL=approval.test.js.map