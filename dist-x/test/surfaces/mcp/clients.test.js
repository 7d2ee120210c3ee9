import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nameOf, OPERATIONS, pathOf, WRITES } from '../../support/authority/operations.js';
import { CANARY, plantReceipt, receiptId, World, webId } from '../../support/authority/world.js';
import { addDispositions, tracesOf } from '../../support/authority/writes.js';
import { openTestGateway } from '../../support/gateway.js';
import { argumentsOf, rpc, toolOf } from '../../support/surfaces/mcp.js';
import { freshKey } from '../../support/surfaces/wire.js';
let gateway;
let world;
let token;
let receipt;
const WEB = webId(1, 1);
const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'];
const TENANTS = Array.from({ length: 20 }, (_, index) => index + 11);
beforeAll(async () => {
    gateway = await openTestGateway('empty');
    const { sql } = gateway.database;
    world = new World(sql);
    for (const tenant of [1, ...TENANTS]) {
        await world.organization(tenant);
        await world.base(tenant, 1);
    }
    await world.away(1, 1);
    await addDispositions(sql);
    const issued = await gateway.issue({ authors: ['opr_1_1_1'] });
    token = issued.token;
    receipt = receiptId(issued.credential);
    await plantReceipt(sql, issued.credential);
});
afterAll(() => gateway.close());
/**
 * Connects the SDK's client as its documentation shows. With `version`, the client asks for this version of MCP and not
 * for the newest one.
 */
async function connect(bearer, version) {
    const sent = [];
    const asking = async (url, init = {}) => {
        const body = typeof init.body === 'string' ? JSON.parse(init.body) : undefined;
        if (version !== undefined && body?.method === 'initialize')
            body.params.protocolVersion = version;
        const response = await fetch(url, { ...init, ...(body && { body: JSON.stringify(body) }) });
        sent.push({
            verb: init.method ?? 'GET',
            status: response.status,
            version: new Headers(init.headers).get('mcp-protocol-version'),
            session: response.headers.get('mcp-session-id'),
        });
        return response;
    };
    const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${gateway.port}/mcp`), {
        requestInit: { headers: { Authorization: `Bearer ${bearer}` } },
        fetch: asking,
    });
    const client = new Client({ name: 'test', version: '1.0.0' });
    // The SDK's own transport type does not fit its interface under exactOptionalPropertyTypes.
    await client.connect(transport);
    return { client, sent };
}
const countsOf = (traces) => (/^(\d+) notes, (\d+) receipts, (\d+) operations/.exec(traces) ?? expect.fail(traces)).slice(1).map(Number);
describe('the SDK’s own client', () => {
    it.each(VERSIONS)('does everything in version %s', async (version) => {
        const { client, sent } = await connect(token, version);
        expect(client.getServerVersion()).toMatchObject({ name: 'installation-gateway', version: '0.0.0' });
        expect(client.getInstructions()).toContain('gateway_context');
        expect(Object.keys(client.getServerCapabilities() ?? {}).sort()).toEqual([
            'extensions',
            'prompts',
            'resources',
            'tools',
        ]);
        // After this call, the client checks the answers of each tool against the output schema in the list.
        const { tools } = await client.listTools();
        expect(tools).toHaveLength(gateway.corridor.registry.tools.length);
        expect(tools.filter(({ outputSchema }) => outputSchema !== undefined)).toHaveLength(version === '2025-03-26' ? 0 : tools.length);
        for (const operation of OPERATIONS) {
            const tool = toolOf(gateway, operation.tool);
            const input = argumentsOf(tool, pathOf(operation, WEB, receipt));
            const result = await client.callTool({ name: tool.name, arguments: input });
            expect([result.isError, Object.keys(Object(result.structuredContent))], nameOf(operation)).toEqual([
                false,
                ['data'],
            ]);
        }
        for (const write of WRITES) {
            const { tool: name } = write;
            const tool = toolOf(gateway, name);
            const input = { ...argumentsOf(tool, pathOf(write, WEB)), ...write.body(WEB), idempotency_key: freshKey() };
            const before = countsOf(await tracesOf(gateway.database.sql));
            const result = await client.callTool({ name, arguments: input });
            expect(result, name).toMatchObject({
                isError: false,
                structuredContent: { data: expect.any(Object), operation_id: expect.stringMatching(/^op_[a-f0-9]{64}$/) },
            });
            const [notes = 0, receipts = 0, operations = 0] = before;
            const after = await tracesOf(gateway.database.sql);
            expect(countsOf(after), name).toEqual([notes + write.notes, receipts + write.receipts.length, operations + 1]);
            // Send the write again, as a client does when an answer is lost. The gateway must repeat the first answer,
            // without a second effect.
            expect(await client.callTool({ name, arguments: input }), name).toEqual({
                ...result,
                _meta: { ...result._meta, 'gateway/replayed': true },
            });
            const other = { ...input, ...(name === 'config_plan' ? { expected_version: 7 } : { website_id: WEB }) };
            expect(await client.callTool({ name, arguments: other }), name).toMatchObject({
                isError: true,
                structuredContent: {
                    error: { code: 'idempotency_conflict', status: 409 },
                    operation_id: Object(result.structuredContent).operation_id,
                },
            });
            const { idempotency_key: _, ...keyless } = input;
            await expect(client.callTool({ name, arguments: keyless }), name).rejects.toMatchObject({
                code: -32602,
                data: { code: 'idempotency_key_required', errors: [{ parameter: 'idempotency_key', code: 'missing' }] },
            });
            expect(await tracesOf(gateway.database.sql), name).toBe(after);
        }
        const failed = await client.callTool({ name: 'conversation', arguments: { conversation_id: 'cnv_1_1_77' } });
        expect(failed).toMatchObject({
            isError: true,
            structuredContent: { error: { code: 'not_found', status: 404 } },
        });
        await expect(client.callTool({ name: 'conversation', arguments: {} })).rejects.toMatchObject({
            code: -32602,
            data: { code: 'invalid_parameter', errors: [{ parameter: 'conversation_id', code: 'missing' }] },
        });
        const { resources } = await client.listResources();
        for (const { uri } of resources) {
            const { contents } = await client.readResource({ uri });
            expect(contents).toHaveLength(1);
        }
        expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(7);
        const values = {
            configuration_preview: { feature_id: 'aif_1_1_1', enabled: 'false' },
            performance_summary: { website_id: WEB, range: 'today' },
        };
        const { prompts } = await client.listPrompts();
        expect(prompts.map(({ name }) => name)).toEqual(Object.keys(values));
        for (const [name, input] of Object.entries(values)) {
            const { messages } = await client.getPrompt({ name, arguments: input });
            expect(messages, name).toMatchObject([{ role: 'user', content: { type: 'text' } }]);
        }
        expect(await client.ping()).toEqual({});
        await client.close();
        expect(sent[0]).toMatchObject({ verb: 'POST', status: 200 });
        // `initialize` has no version header. Every later request names the version that `initialize` agreed on.
        expect([...new Set(sent.slice(1).map((one) => one.version))]).toEqual([version]);
        expect([...new Set(sent.map((one) => one.session))]).toEqual([null]);
        const odd = sent.filter((one) => one.verb !== 'POST');
        expect(odd.map(({ verb, status }) => [verb, status])).toEqual(odd.map(() => ['GET', 405]));
        expect(sent.filter((one) => one.verb === 'POST' && ![200, 202].includes(one.status))).toEqual([]);
        expect(sent.length).toBeGreaterThan(OPERATIONS.length + WRITES.length * 4 + resources.length);
    });
    it('MC-13 twenty at once, with equal ids and equal keys: nobody ever gets another’s answer', async () => {
        const bearers = await Promise.all(TENANTS.map((tenant) => gateway.issue({ authors: [`opr_${tenant}_1_1`] }, tenant)));
        const clients = await Promise.all(bearers.map((one) => connect(one.token)));
        const own = new Map(TENANTS.map((tenant) => [
            tenant,
            new Set(world.canaries.filter((one) => one.tenant === tenant).map(({ text }) => text)),
        ]));
        let answers = 0;
        const hold = (tenant, answer) => {
            const shown = answer.match(CANARY) ?? [];
            expect(shown.length, answer.slice(0, 200)).toBeGreaterThan(0);
            expect(shown.filter((text) => !own.get(tenant)?.has(text)), `organization ${tenant}`).toEqual([]);
            answers++;
        };
        const calls = (tenant, key) => [
            ['contacts_list', { website_id: webId(tenant, 1) }],
            ['conversations_list', { website_id: webId(tenant, 1) }],
            ['conversation_messages', { conversation_id: `cnv_${tenant}_1_1` }],
            ['operators', { website_id: webId(tenant, 1) }],
            ['websites_list', {}],
            ['visitor_note_add', { visitor_id: `vis_${tenant}_1_1`, text: `Note under ${key}`, idempotency_key: key }],
        ];
        const written = () => gateway.database.sql `
      SELECT tenant::integer, count(*)::integer AS notes, array_agg(DISTINCT operator_id::integer) AS authors,
             count(DISTINCT text)::integer AS texts
        FROM platform.note WHERE tenant = ANY(${TENANTS}) AND id > 100 GROUP BY tenant ORDER BY tenant`;
        expect(await written()).toHaveLength(0);
        const work = TENANTS.flatMap((tenant, index) => {
            const client = clients[index]?.client;
            const bearer = bearers[index]?.token;
            // Each client numbers its requests from 0, so requests of different clients have the same ids.
            return calls(tenant, '').map(async (_, caller) => {
                for (let turn = 0; turn < 10; turn++) {
                    const list = calls(tenant, `caller-${caller}-turn-${turn}`);
                    const [name, input] = list[(caller + turn) % list.length] ?? ['', {}];
                    const once = async () => {
                        if (turn % 2 === 0)
                            return JSON.stringify(await client?.callTool({ name, arguments: input }));
                        const { text, body } = await rpc(gateway.port, bearer, 'tools/call', { name, arguments: input }, { id: 1 });
                        expect(body.id).toBe(1);
                        return text;
                    };
                    let answer = await once();
                    // Twenty writes and a hundred reads share four database connections. When a write gets no connection within a
                    // second, the write fails and the test sends it again.
                    for (let more = 0; more < 10 && answer.includes('service_unavailable'); more++) {
                        await pause(1_000);
                        answer = await once();
                    }
                    hold(tenant, answer);
                }
            });
        });
        await Promise.all(work);
        expect(answers).toBe(1_200);
        expect([...(await written())]).toEqual(TENANTS.map((tenant) => ({ tenant, notes: 10, authors: [1], texts: 10 })));
        await Promise.all(clients.map(({ client }) => client.close()));
    });
});
//# sourceMappingURL=clients.test.js.map