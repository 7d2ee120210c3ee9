import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { World } from '../../support/authority/world.js';
import { openTestGateway } from '../../support/gateway.js';
import { rpc } from '../../support/surfaces/mcp.js';
let gateway;
beforeAll(async () => {
    gateway = await openTestGateway('empty');
    await new World(gateway.database.sql).whole();
});
afterAll(() => gateway.close());
const WEB = 'web_1_1';
const writer = () => gateway.issue({ authors: ['opr_1_1_1', 'opr_1_2_1'] });
async function note(token, key, site = 1) {
    const { status, headers, text } = await gateway.ask(`/api/v1/visitors/vis_1_${site}_1/notes`, {
        ...{ token, body: { text: 'Asked for a refund.' }, headers: { 'idempotency-key': key } },
    });
    expect(status, text).toBe(200);
    return String(headers['x-gateway-operation-id']);
}
const ask = (token, query) => gateway.ask(`/api/v1/operations?${query}`, { token });
const byKey = (token, key, website = WEB) => ask(token, `website_id=${website}&idempotency_key=${encodeURIComponent(key)}`);
describe('operation_get by the key of a write', () => {
    it('gives the receipt of the same credential’s write, over REST and MCP, also for keys that need escapes', async () => {
        const { token } = await writer();
        for (const key of ['note-1', 'a/b?c=d&e', `%2F~!"'`, 'k'.repeat(128)]) {
            const id = await note(token, key);
            const receipt = (await gateway.ask(`/api/v1/operations/${id}?website_id=${WEB}`, { token })).body;
            const { status, body } = await byKey(token, key);
            expect([status, body]).toEqual([200, receipt]);
            const input = { website_id: WEB, idempotency_key: key };
            const { result } = (await rpc(gateway.port, token, 'tools/call', { name: 'operation_get', arguments: input }))
                .body;
            expect(result.structuredContent.data).toEqual(receipt);
            expect(receipt.data).toMatchObject({ operation_id: id, operation: 'visitor_note_add', status: 'acknowledged' });
        }
    });
    it('finds no write of another credential, website or key', async () => {
        const [{ token }, other] = [await writer(), await writer()];
        await note(token, 'mine');
        for (const [bearer, key, website] of [
            [other.token, 'mine', WEB],
            [token, 'mine', 'web_1_2'],
            [token, 'other', WEB],
        ]) {
            const { status, body } = await byKey(bearer, key, website);
            expect([status, body.code], `${key} ${website}`).toEqual([404, 'not_found']);
        }
        await note(token, 'mine-2', 2);
        expect((await byKey(token, 'mine-2', 'web_1_2')).status).toBe(200);
    });
    it('finds the newest of several operations that had the key', async () => {
        const { token } = await writer();
        await note(token, 'shared');
        const { body } = await gateway.ask(`/api/v1/settings/plans?website_id=${WEB}`, {
            token,
            body: { path: '/ai/features/aif_1_1_1', expected_version: 2, changes: { enabled: false } },
            headers: { 'idempotency-key': 'shared' },
        });
        expect(body.data).toBeDefined();
        expect((await byKey(token, 'shared')).body.data.operation).toBe('config_plan');
    });
    it('takes exactly one of the id and the key', async () => {
        const { token } = await writer();
        const id = await note(token, 'one');
        for (const path of [
            `/api/v1/operations?website_id=${WEB}`,
            `/api/v1/operations/${id}?website_id=${WEB}&idempotency_key=one`,
            `/api/v1/operations?website_id=${WEB}&idempotency_key=`,
            `/api/v1/operations?website_id=${WEB}&idempotency_key=a%20b`,
            `/api/v1/operations?website_id=${WEB}&idempotency_key=${'k'.repeat(129)}`,
            `/api/v1/operations?website_id=${WEB}&operation_id=${id}`,
        ]) {
            const { status, body } = await gateway.ask(path, { token });
            expect([status, body.errors?.length], path).toEqual([400, 1]);
        }
    });
});
//# sourceMappingURL=operation-get.test.js.map