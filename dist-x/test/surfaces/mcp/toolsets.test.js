import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientsText } from '../../../src/surfaces/docs/clients.js';
import { BASE_URL, openTestGateway } from '../../support/gateway.js';
import { post, rpc } from '../../support/surfaces/mcp.js';
let gateway;
let token;
beforeAll(async () => {
    gateway = await openTestGateway();
    ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());
const CORE = [
    ...['access_explain', 'capabilities_list', 'gateway_context', 'guide_read', 'health', 'operation_get'],
    'websites_list',
];
const FIND = ['access_explain', 'conversation_brief', 'conversations_count', 'customer_find', 'fetch', 'search'];
const WRITES = ['ai_feature_execute', 'config_plan', 'conversation_disposition_set', 'visitor_note_add'];
const listed = async (path) => {
    const { body } = await rpc(gateway.port, token, 'tools/list', undefined, { path });
    return body.result.tools.map(({ name }) => name).sort();
};
const sets = [
    ...['core', 'find', 'conversations', 'people', 'catalogue', 'reports', 'settings', 'events', 'files', 'writes'],
];
const sorted = (...names) => [...new Set(names)].sort();
describe('sets of tools', () => {
    it('list their tools and core, and together they list all', async () => {
        expect(await listed('/mcp/only/core')).toEqual(CORE);
        expect(await listed('/mcp/only/find')).toEqual(sorted(...CORE, ...FIND));
        expect(await listed('/mcp/only/writes')).toEqual(sorted(...CORE, ...WRITES));
        expect(await listed('/mcp/only/find,writes')).toEqual(sorted(...CORE, ...FIND, ...WRITES));
        expect(await listed('/mcp/only/find,find')).toEqual(sorted(...CORE, ...FIND));
        expect(await listed('/mcp/only/writes,find/')).toEqual(sorted(...CORE, ...FIND, ...WRITES));
        const every = await listed('/mcp');
        expect(await listed(`/mcp/only/${sets.join(',')}`)).toEqual(every);
        const parts = await Promise.all(sets.map((set) => listed(`/mcp/only/${set}`)));
        expect(sorted(...parts.flat())).toEqual(every);
    });
    it('a read-only address lists every tool but those that change something', async () => {
        const every = await listed('/mcp');
        const reads = await listed('/mcp/readonly');
        expect(reads).not.toContain('visitor_note_add');
        expect(every.filter((name) => !reads.includes(name))).toEqual(sorted(...WRITES, 'subscription_create', 'subscription_delete', 'subscription_replace'));
        expect(await listed('/mcp/only/writes/readonly')).toEqual(CORE);
        expect(await listed('/mcp/only/find,writes/readonly/')).toEqual(sorted(...CORE, ...FIND));
    });
    it('a tool that is not listed cannot be called, and the refusal names the address that lists all tools', async () => {
        const call = async (path, name, by = token) => {
            const { body } = await rpc(gateway.port, by, 'tools/call', { name, arguments: { website_id: 'web_1_1' } }, { path });
            return body.error ?? (body.result.isError ? 'failed' : 'done');
        };
        const never = await call('/mcp', 'nothing');
        const unlisted = {
            code: -32_602,
            message: 'This address lists no tool with that name. The address /mcp lists every tool.',
            data: { code: 'not_permitted' },
        };
        expect(await call('/mcp/only/find', 'contacts_list')).toEqual(unlisted);
        expect(await call('/mcp/readonly', 'visitor_note_add')).toEqual(unlisted);
        expect(await call('/mcp/only/people/readonly', 'visitor_note_add')).toEqual(unlisted);
        expect(await call('/mcp/only/people', 'contacts_list')).toBe('done');
        // A tool that the credential cannot call at all is like a tool that does not exist.
        const poor = await gateway.issue({ scopes: ['website_read'], dataAccess: [] });
        for (const name of ['contacts_list', 'visitor_note_add', 'nothing'])
            expect(await call('/mcp/only/find/readonly', name, poor.token), name).toEqual(never);
    });
    it('a resource or prompt is listed and read only where all its tools are listed', async () => {
        const ask = async (path, method, params) => (await rpc(gateway.port, token, method, params, { path })).body;
        const REPORT = 'gateway://reports/ai-conversations/web_1_1/today';
        const CATALOG = 'gateway://config/web_1_1/catalog';
        const SUMMARY = { name: 'performance_summary', arguments: { website_id: 'web_1_1', range: 'today' } };
        const PREVIEW = { name: 'configuration_preview', arguments: { feature_id: 'aif_1_1_1', enabled: 'false' } };
        const unlisted = {
            code: -32_602,
            message: 'This address lists no prompt with that name. The address /mcp lists every prompt.',
            data: { code: 'not_permitted' },
        };
        for (const [path, report, catalog, summary, preview] of [
            ['/mcp', true, true, true, true],
            ['/mcp/only/find', false, false, false, false],
            ['/mcp/only/find,writes', false, false, false, false],
            ['/mcp/only/reports', true, false, true, false],
            ['/mcp/only/settings', false, true, false, true],
            // The preview calls config_plan, which is a write.
            ['/mcp/only/settings/readonly', false, true, false, false],
            ['/mcp/readonly', true, true, true, false],
        ]) {
            const { resources } = (await ask(path, 'resources/list')).result;
            const uris = resources.map(({ uri }) => uri);
            expect(uris, path).toContain('gateway://guides/overview');
            for (const [uri, listed] of [
                [REPORT, report],
                [CATALOG, catalog],
            ]) {
                expect(uris.includes(uri), `${path} ${uri}`).toBe(listed);
                expect((await ask(path, 'resources/read', { uri })).error?.code, `${path} ${uri}`).toBe(listed ? undefined : -32_602);
            }
            const { prompts } = (await ask(path, 'prompts/list')).result;
            const names = prompts.map(({ name }) => name);
            for (const [prompt, listed] of [
                [SUMMARY, summary],
                [PREVIEW, preview],
            ]) {
                expect(names.includes(prompt.name), `${path} ${prompt.name}`).toBe(listed);
                const { error, result } = await ask(path, 'prompts/get', prompt);
                expect(error, `${path} ${prompt.name}`).toEqual(listed ? undefined : unlisted);
                expect(result?.messages?.length, `${path} ${prompt.name}`).toBe(listed ? 1 : undefined);
            }
        }
        const poor = await gateway.issue({ scopes: ['website_read'], dataAccess: [] });
        const { error } = (await rpc(gateway.port, poor.token, 'prompts/get', SUMMARY, { path: '/mcp/only/find' })).body;
        expect(error.message).toBe('This credential can use no prompt with that name.');
    });
    it('the page of the clients names every set with its tokens, and only addresses that exist', async () => {
        const text = clientsText('http://gateway');
        const addresses = [...text.matchAll(/http:\/\/gateway(\/mcp\/[\w,/]+)/g)].map(([, path = '']) => path);
        expect(new Set(addresses)).toEqual(new Set(['/mcp/only/find,writes', '/mcp/readonly', '/mcp/only/find/readonly']));
        for (const path of addresses)
            expect(await listed(path), path).toEqual(expect.arrayContaining(CORE));
        const named = [...text.matchAll(/^- `(\w+)` \(([\d,]+)\): /gm)].map(([, set = '', tokens = '']) => ({
            set,
            tokens,
        }));
        expect(named.map(({ set }) => set)).toEqual(sets);
        for (const { set, tokens } of named) {
            const { body } = await rpc(gateway.port, token, 'tools/list', undefined, { path: `/mcp/only/${set}` });
            const share = countTokens(JSON.stringify(body.result)) / Number(tokens.replace(',', ''));
            expect(share, `${set}: ${tokens} tokens`).toBeGreaterThan(0.9);
            expect(share, `${set}: ${tokens} tokens`).toBeLessThan(1.1);
        }
    });
    it.each([
        ...['/mcp/only/nothing', '/mcp/only/find,nothing', '/mcp/only/Find', '/mcp/only/find,find,nothing'],
        ...['/mcp/only/find,', '/mcp/only/find,,core'],
    ])('%s is 404 with the list of sets, and 401 without a token', async (path) => {
        const answer = await rpc(gateway.port, token, 'tools/list', undefined, { path });
        expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
        for (const set of sets)
            expect(answer.body.detail).toContain(set);
        expect((await rpc(gateway.port, undefined, 'tools/list', undefined, { path })).status).toBe(401);
    });
    it.each([
        ...['/mcp/only', '/mcp/only/', '/mcp/only/find/x', '/mcp/only/find/readonly/x', '/mcp/readonly/only/find'],
        ...['/mcp/read-only', '/mcp/only/find//', '/mcp/%6fnly/find'],
    ])('%s is no endpoint', async (path) => {
        expect((await post(gateway.port, token, '{}', { path })).status).toBe(404);
    });
    it('the protected resource of each address is the endpoint', async () => {
        for (const path of ['/mcp/only/find', '/mcp/readonly', '/mcp/only/find,writes/readonly']) {
            const { headers, status } = await rpc(gateway.port, undefined, 'tools/list', undefined, { path });
            expect(status).toBe(401);
            expect(headers['www-authenticate']).toContain(`resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource/mcp"`);
        }
    });
    it('an SDK client works at such an address', async () => {
        const client = new Client({ name: 'test', version: '1.0.0' });
        await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${gateway.port}/mcp/only/find/readonly`), {
            requestInit: { headers: { Authorization: `Bearer ${token}` } },
        }));
        const { tools } = await client.listTools();
        expect(tools.map(({ name }) => name).sort()).toEqual(sorted(...CORE, ...FIND));
        await client.close();
    });
});
//# sourceMappingURL=toolsets.test.js.map