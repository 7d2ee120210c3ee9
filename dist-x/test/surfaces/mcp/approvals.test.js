import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decide } from '../../../src/gateway/approvals.js';
import { addEndpoint, openReceiver, run, until, verified } from '../../support/events/webhooks.js';
import { BASE_URL, openTestGateway } from '../../support/gateway.js';
import { asked, asker, effectsOf, freshKey, statusOf } from '../../support/ledger/approvals.js';
import { DETECTION, detection, MCP_HEADERS, mcpOf, note, SITE, VISITOR } from '../../support/ledger/commands.js';
import { rpc, work } from '../../support/surfaces/a2a.js';
/** What agents and owners are told of a write that waits for a person. */
let gateway;
let by;
beforeAll(async () => {
    gateway = await openTestGateway();
    by = await asker(gateway);
});
afterAll(() => gateway.close());
const approve = (id) => decide({ db: gateway.database.db, registry: gateway.corridor.registry }, id, true, () => undefined);
async function connect(shows, answer = 'accept') {
    const shown = [];
    const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' }, capabilities: shows ? { elicitation: { url: {} } } : {} });
    if (shows)
        client.setRequestHandler('elicitation/create', async ({ params }) => {
            shown.push(params);
            return { action: answer };
        });
    const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${gateway.port}/mcp`), {
        requestInit: { headers: { Authorization: `Bearer ${by.token}` } },
    });
    await client.connect(transport);
    return { client, shown };
}
const call = (client, text, key) => client.callTool({ name: 'visitor_note_add', arguments: { visitor_id: VISITOR, text, idempotency_key: key } });
describe('over MCP', () => {
    it('an older client gets the receipt, and the page in words', async () => {
        const { body } = await gateway.ask('/mcp', {
            token: by.token,
            body: mcpOf(note('Old client'), freshKey()),
            headers: MCP_HEADERS,
        });
        const { isError, structuredContent, content } = body.result;
        const id = structuredContent.operation_id;
        expect(isError).toBe(false);
        expect(structuredContent.data.data).toMatchObject({ operation_id: id, status: 'pending', website_id: SITE });
        expect(JSON.parse(content[0].text)).toEqual(structuredContent.data);
        expect(content[1].text).toContain(`${BASE_URL}/console/approvals/${id}`);
        expect(content[1].text).toContain('Nothing has changed yet');
    });
    it.each(['accept', 'decline'])('a client that shows pages is sent to the page, and its %s decides nothing', async (answer) => {
        const { client, shown } = await connect(true, answer);
        const [text, key] = [`Page first, ${answer}`, freshKey()];
        const result = await call(client, text, key);
        const id = String(Object(result.structuredContent).operation_id);
        expect(shown).toEqual([
            { mode: 'url', url: `${BASE_URL}/console/approvals/${id}`, message: expect.stringContaining('approve') },
        ]);
        expect(result.structuredContent).toMatchObject({ data: { data: { status: 'pending' } } });
        expect([await statusOf(gateway, by, id), (await effectsOf(gateway.database, text)).notes]).toEqual([
            'pending',
            0,
        ]);
        expect(await approve(id)).toMatchObject({ state: 'performed' });
        const done = await call(client, text, key);
        expect([done.isError, shown.length, (await effectsOf(gateway.database, text)).notes]).toEqual([false, 1, 1]);
        await client.close();
    });
    it('a client that shows no pages gets the words', async () => {
        const { client } = await connect(false);
        const result = await call(client, 'No page', freshKey());
        expect(JSON.stringify(result.content)).toContain(`${BASE_URL}/console/approvals/op_`);
        await client.close();
    });
});
describe('over A2A', () => {
    it('a task that would write fails, and nothing waits', async () => {
        const input = { feature_id: DETECTION, expected_version: 3, context: { type: 'text', text: 'Guten Tag' } };
        const count = async () => (await gateway.database.sql `SELECT count(*)::integer AS n FROM gateway.approval`)[0]?.n;
        const before = await count();
        const { body: { result }, } = await rpc(gateway.port, by.token, 'SendMessage', work('offline_language_detection', input));
        expect(JSON.stringify(result)).toContain('approval_required');
        expect(result.task.status.state).toBe('TASK_STATE_FAILED');
        expect(await count()).toBe(before);
        const free = await asker(gateway, ['visitor_note_add']);
        const { body: { result: done }, } = await rpc(gateway.port, free.token, 'SendMessage', work('offline_language_detection', input));
        expect(done.task.status.state).toBe('TASK_STATE_COMPLETED');
    });
});
describe('the webhook approval.requested', () => {
    it('is sent to the endpoints that name it, once, signed and without content', async () => {
        const receiver = await openReceiver();
        const plain = await openReceiver();
        const owner = await gateway.issue();
        const { id: endpoint, secret } = await addEndpoint(gateway.database, owner.credential, receiver.url, {
            eventTypes: ['approval.requested'],
        });
        await addEndpoint(gateway.database, owner.credential, plain.url);
        await addEndpoint(gateway.database, owner.credential, receiver.url, {
            eventTypes: ['approval.requested'],
            site: '2',
        });
        const running = run(gateway.database, [receiver, plain]);
        const id = await asked(gateway, by, detection('Payload of the webhook'));
        await until(() => receiver.got.length > 0);
        const [got] = receiver.got;
        const body = JSON.parse(String(got?.bytes));
        expect(got && verified(secret, got)).toBe(true);
        expect(body).toEqual({
            type: 'approval.requested',
            timestamp: expect.any(String),
            data: {
                event_id: expect.stringMatching(/^evt_[a-f0-9]{64}$/),
                event_type: 'approval.requested',
                website_id: SITE,
                cursor: expect.any(Number),
                occurred_at: expect.any(Number),
                recorded_at: expect.any(Number),
            },
        });
        expect(String(got?.bytes)).not.toContain(id.slice(3));
        expect(String(got?.bytes)).not.toContain(DETECTION);
        // The same request again is no new event, and the families have no heartbeat of it.
        await gateway.database.sql `SELECT gateway.beat_families('0 seconds', 100)`;
        const types = await gateway.database.sql `SELECT DISTINCT event_type FROM gateway.journal`;
        expect(types.filter(({ event_type }) => event_type.startsWith('approval'))).toEqual([]);
        const [log] = await gateway.database.sql `
      SELECT count(*)::integer AS n FROM gateway.webhook_delivery WHERE endpoint_id = ${endpoint}`;
        expect([log?.n, receiver.got.length, plain.got.filter(({ bytes }) => String(bytes).includes('approval'))]).toEqual([
            1,
            1,
            [],
        ]);
        await running.stop();
        await Promise.all([receiver.close(), plain.close()]);
        expect(running.errors).toEqual([]);
    });
});
//# sourceMappingURL=approvals.test.js.map