import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Quota } from '../../../src/gateway/quota.js';
import { openTestGateway } from '../../support/gateway.js';
import { post, rpc } from '../../support/surfaces/mcp.js';
import { PAYING } from '../../support/surfaces/mcp-paying.js';
import { message } from '../../support/surfaces/rpc.js';
import { WEB } from '../../support/surfaces/wire.js';
let gateway;
beforeAll(async () => {
    gateway = await openTestGateway();
});
afterAll(() => gateway.close());
const remaining = ({ headers }) => Number(/^"app";r=(\d+);t=\d+$/.exec(String(headers['ratelimit']))?.[1]);
describe('RL quota', () => {
    it('RL one unit a request, whatever becomes of it, said in RateLimit; a report five; a refused door none', async () => {
        const { token: counted } = await gateway.issue({ perMinute: 1, burst: 100 });
        let left = 100;
        const expectPaid = (answer, cost, where) => {
            left -= cost;
            expect(remaining(answer), where).toBe(left);
            expect(answer.headers['ratelimit-policy'], where).toBe('"app";q=1;w=60');
        };
        for (const [what, status, body, options] of PAYING) {
            const answer = await post(gateway.port, counted, body, options);
            expect(answer.status, what).toBe(status);
            expectPaid(answer, 1, what);
        }
        const call = (name, input) => rpc(gateway.port, counted, 'tools/call', { name, arguments: input });
        expectPaid(await call('websites_list', {}), 1, 'a call');
        expectPaid(await call('conversation', { conversation_id: 'cnv_1_1_9223372036854775807' }), 1, 'not found');
        expectPaid(await call('conversations_list', { x: 1 }), 1, 'bad arguments');
        expectPaid(await call('ai_conversation_summary', { website_id: WEB, range: 'today' }), 5, 'a report');
        const uri = `gateway://reports/ai-conversations/${WEB}/today`;
        expectPaid(await rpc(gateway.port, counted, 'resources/read', { uri }), 5, 'a report as a resource');
        // A request that is refused before its token is checked costs nothing.
        for (const options of [
            { verb: 'GET' },
            { path: '/mcp?' },
            { headers: { origin: 'null' } },
            { headers: { host: 'x' } },
        ])
            expect((await post(gateway.port, counted, message('ping'), options)).headers['ratelimit']).toBeUndefined();
        expectPaid(await post(gateway.port, counted, message('ping')), 1, 'after them');
    });
    it('RL-01 an app whose bucket is full is never refused, at whatever moment its requests come', async () => {
        const refused = [];
        // A fault can depend on the moment at which a second request comes. Each round of the loop sends the second request
        // one turn of the event loop later.
        for (let turn = 0; turn < 40; turn++) {
            const { app } = await gateway.issue({ perMinute: 60_000, burst: 1_000 });
            const charges = [];
            const late = async () => {
                for (let i = 0; i < turn; i++)
                    await undefined;
                charges.push(quota.charge(app, 1));
            };
            const { db } = gateway.database;
            const lease = async (statement) => {
                const rows = await db.query(statement);
                if (charges.length === 1)
                    late();
                return rows;
            };
            const quota = new Quota({ ...db, query: lease, read: lease });
            charges.push(quota.charge(app, 1));
            await charges[0]?.catch((error) => refused.push(`the first, turn ${turn}: ${error.message}`));
            await sleep(2);
            await charges[1]?.catch((error) => refused.push(`the second, turn ${turn}: ${error.message}`));
            expect(charges).toHaveLength(2);
        }
        expect(refused).toEqual([]);
    });
    it('RL a token that is no good does not cost its app', async () => {
        const ended = await gateway.issue({ perMinute: 1, burst: 10 });
        const { token: twin } = await gateway.issue({ app: ended.app });
        expect(remaining(await rpc(gateway.port, ended.token, 'ping'))).toBe(9);
        await gateway.database.sql `UPDATE gateway.credential SET revoked_at = now() WHERE id = ${ended.credential}`;
        for (const [what, , body, options] of PAYING)
            expect((await post(gateway.port, ended.token, body, options)).status, what).toBe(401);
        for (const name of ['websites_list', 'gateway_context', 'conversations_list', 'ai_conversation_summary'])
            expect((await rpc(gateway.port, ended.token, 'tools/call', { name })).status, name).toBe(401);
        expect(remaining(await rpc(gateway.port, twin, 'ping'))).toBe(8);
    });
    it('RL-02 used up: HTTP 429 with Retry-After, and isError with retry_after for a tool call', async () => {
        const { token: spent } = await gateway.issue({ perMinute: 1, burst: 1 });
        expect((await rpc(gateway.port, spent, 'ping')).status).toBe(200);
        for (const [what, , body, options] of PAYING) {
            const answer = await post(gateway.port, spent, body, options);
            expect(answer.status, what).toBe(429);
            expect(answer.headers['content-type'], what).toBe('application/problem+json');
            expect(answer.body, what).toMatchObject({ code: 'quota_exceeded', status: 429 });
            expect(answer.headers['retry-after'], what).toMatch(/^[1-9][0-9]?$/);
            expect(answer.body.retry_after).toBe(Number(answer.headers['retry-after']));
        }
        for (const name of ['websites_list', 'conversations_list', 'ai_conversation_summary']) {
            const answer = await rpc(gateway.port, spent, 'tools/call', { name, arguments: {} });
            expect(answer.status, name).toBe(200);
            expect(remaining(answer)).toBe(0);
            const { isError, structuredContent, content } = answer.body.result;
            expect(isError).toBe(true);
            expect(structuredContent.error).toEqual({
                code: 'quota_exceeded',
                status: 429,
                request_id: answer.headers['x-request-id'],
                retry_after: expect.any(Number),
            });
            expect(structuredContent.error.retry_after).toBeGreaterThanOrEqual(1);
            expect(JSON.parse(content[0].text)).toEqual(structuredContent);
        }
    });
    it('RL-02 waiting for retry_after is enough', async () => {
        const { token: soon } = await gateway.issue({ perMinute: 60, burst: 1 });
        const params = { name: 'websites_list' };
        expect((await rpc(gateway.port, soon, 'tools/call', params)).body.result.isError).toBe(false);
        const { error } = (await rpc(gateway.port, soon, 'tools/call', params)).body.result.structuredContent;
        expect(error.retry_after).toBe(1);
        await sleep(error.retry_after * 1_000);
        expect((await rpc(gateway.port, soon, 'tools/call', params)).body.result.isError).toBe(false);
    });
});
//# sourceMappingURL=quota.test.js.map