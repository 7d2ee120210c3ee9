import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { openTestGateway } from '../../support/gateway.js';
import { argumentsOf, MODERN } from '../../support/surfaces/mcp.js';
import { digestOf, frontmatterOf } from '../../support/surfaces/skills.js';
import { examples, freshKey, WEB, writer } from '../../support/surfaces/wire.js';
/**
 * The client package of both eras, unmodified. The client checks each answer against the schemas of its version, and
 * each tool's answer against the output schema in the list.
 */
let gateway;
let token;
beforeAll(async () => {
    gateway = await openTestGateway();
    ({ token } = await writer(gateway));
});
afterAll(() => gateway.close());
/** An entry of skills/list, as SEP-2640 defines it. */
const Skill = z.strictObject({
    uri: z.string(),
    frontmatter: z.strictObject({ name: z.string(), description: z.string() }),
    resources: z.array(z.strictObject({ uri: z.string(), digest: z.string().regex(/^sha256:[0-9a-f]{64}$/), size: z.int().positive() })),
});
async function connect(mode, bearer = token) {
    const sent = [];
    const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${gateway.port}/mcp`), {
        requestInit: { headers: { Authorization: `Bearer ${bearer}` } },
        fetch: async (url, init) => {
            const response = await fetch(url, init);
            const headers = new Headers(init?.headers);
            sent.push({
                method: typeof init?.body === 'string' ? JSON.parse(init.body).method : String(init?.method),
                status: response.status,
                version: headers.get('mcp-protocol-version'),
                named: headers.get('mcp-method') !== null,
            });
            return response;
        },
    });
    const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(transport);
    return { client, sent };
}
const MODES = [
    ['negotiating', 'auto', MODERN],
    ['pinned', { pin: MODERN }, MODERN],
    ['legacy', 'legacy', '2025-11-25'],
];
describe('the client of both eras', () => {
    it.each(MODES)('%s: every tool, resource and prompt', async (_name, mode, version) => {
        const { client, sent } = await connect(mode);
        const isModern = version === MODERN;
        expect(client.getNegotiatedProtocolVersion()).toBe(version);
        expect(client.getServerVersion()).toMatchObject({ name: 'installation-gateway', version: '0.0.0' });
        expect(client.getInstructions()).toContain('gateway_context');
        expect(Object.keys(client.getServerCapabilities() ?? {}).sort()).toEqual([
            'extensions',
            'prompts',
            'resources',
            'tools',
        ]);
        const { tools } = await client.listTools();
        expect(tools).toHaveLength(gateway.corridor.registry.tools.length);
        let done = 0;
        for (const { tool, url, body } of await examples(gateway)) {
            const input = { ...argumentsOf(tool, url), ...body, ...(body && { idempotency_key: freshKey() }) };
            const rest = body ? undefined : await gateway.ask(url, { token });
            if (rest?.status === 400)
                continue; // This example of a subscription has no cursor of a subscription.
            const result = await client.callTool({ name: tool.name, arguments: input });
            expect(result.isError, tool.name).toBe(rest ? rest.status !== 200 : false);
            done++;
        }
        expect(done).toBeGreaterThan(40);
        const wrong = client.callTool({ name: 'conversations_list', arguments: { website_id: WEB, limit: 0 } });
        if (isModern)
            expect(await wrong).toMatchObject({
                isError: true,
                structuredContent: { error: { code: 'invalid_parameter', errors: [{ parameter: 'limit' }] } },
            });
        else
            await expect(wrong).rejects.toMatchObject({ code: -32602, data: { errors: [{ parameter: 'limit' }] } });
        await expect(client.callTool({ name: 'unknown', arguments: {} })).rejects.toMatchObject({ code: -32602 });
        await expect(client.readResource({ uri: 'gateway://café' })).rejects.toMatchObject({ code: -32602 });
        const { resources } = await client.listResources();
        for (const { uri } of resources)
            expect((await client.readResource({ uri })).contents).toHaveLength(1);
        expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(7);
        expect((await client.listPrompts()).prompts).toHaveLength(2);
        const prompt = { name: 'performance_summary', arguments: { website_id: WEB, range: 'today' } };
        expect((await client.getPrompt(prompt)).messages).toHaveLength(1);
        await client.close();
        const posts = sent.filter(({ method }) => method !== 'GET');
        expect(posts[0]?.method).toBe(isModern ? 'server/discover' : 'initialize');
        expect(posts.filter(({ status }) => status !== 200 && status !== 202)).toEqual([]);
        const versions = new Set(posts.slice(1).map((one) => one.version));
        expect([...versions]).toEqual([version]);
        expect(posts.some(({ method }) => method === 'initialize')).toBe(!isModern);
        expect(posts.every(({ named }) => named)).toBe(isModern);
    });
    it.each(MODES)('%s: a host lists, gets, reads and verifies each skill', async (_name, mode) => {
        const { client } = await connect(mode);
        expect(client.getServerCapabilities()?.extensions).toMatchObject({ 'io.modelcontextprotocol/skills': {} });
        const { skills } = await client.request({ method: 'skills/list', params: {} }, z.object({ skills: z.array(Skill) }));
        expect(skills).toHaveLength(11);
        for (const skill of skills) {
            const { uri } = skill;
            const one = await client.request({ method: 'skills/get', params: { uri } }, z.object({ skill: Skill }));
            expect(one.skill).toEqual(skill);
            const [content] = (await client.readResource({ uri })).contents;
            const text = content && 'text' in content ? content.text : expect.fail(`${uri} is no text`);
            expect(skill.resources).toEqual([{ uri, digest: digestOf(text), size: Buffer.byteLength(text) }]);
            expect(parse(frontmatterOf(text))).toEqual(skill.frontmatter);
        }
        const uri = 'skill://overview/../overview/SKILL.md';
        await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32602 });
        await client.close();
    });
    it('a credential’s list is not another’s, also within the time that a client may keep it', async () => {
        const poor = await gateway.issue({ scopes: [], dataAccess: [] });
        const [rich, few] = [await connect('auto'), await connect('auto', poor.token)];
        const [all, some] = [await rich.client.listTools(), await few.client.listTools()];
        expect(some.tools.length).toBeLessThan(all.tools.length);
        expect((await few.client.listTools()).tools).toHaveLength(some.tools.length);
        await Promise.all([rich.client.close(), few.client.close()]);
    });
    it('a token that ends is a 401 in each mode', async () => {
        for (const [name, mode] of MODES) {
            const issued = await gateway.issue();
            const { client } = await connect(mode, issued.token);
            await gateway.database.sql `UPDATE gateway.credential SET revoked_at = now() WHERE id = ${issued.credential}`;
            await expect(client.callTool({ name: 'websites_list', arguments: {} }), name).rejects.toThrow(/401|Unauthorized/i);
            await client.close();
            await expect(connect(mode, issued.token), name).rejects.toThrow(/401|Unauthorized/i);
        }
    });
});
//# sourceMappingURL=modern-clients.test.js.map