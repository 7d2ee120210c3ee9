import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALL_FLAGS, ALL_SCOPES } from '../../support/authority/grants.js';
import { openTestGateway } from '../../support/gateway.js';
import { initializeParams, post, rpc } from '../../support/surfaces/mcp.js';
import { WEB } from '../../support/surfaces/wire.js';
let gateway;
let token;
beforeAll(async () => {
    gateway = await openTestGateway();
    ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());
const MARK = 'zqx7canary';
/** Words from the code of libraries. No answer may contain these words. */
const INSIDE = /MCP error|zod|invalid_type|Invalid input|expected (string|number|array|object|boolean)|received|unrecognized|stack|\.ts|\.js/i;
function expectRefusal(answer, code, where) {
    expect(answer.status, where).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers['ratelimit'], where).toMatch(/^"app";/);
    expect(Object.keys(answer.body), where).toEqual(['jsonrpc', 'id', 'error']);
    expect(answer.body.error.code, `${where} ${answer.text}`).toBe(code);
    expect(answer.text, where).not.toMatch(INSIDE);
    expect(answer.text, where).not.toContain(MARK);
}
describe('-32601 unknown methods', () => {
    it('-32601 with HTTP 200 and no word of the method, be it one that the SDK knows', async () => {
        for (const method of [
            ...['logging/setLevel', 'completion/complete', 'resources/subscribe', 'resources/unsubscribe', 'tasks/list'],
            ...['tasks/get', 'tasks/result', 'tasks/cancel', 'sampling/createMessage', 'elicitation/create', 'roots/list'],
            ...['notifications/initialized', 'notifications/cancelled', 'notifications/progress', 'constructor'],
            ...['__proto__', 'toString', 'hasOwnProperty', 'prototype', 'Ping', 'ping ', 'tools/List', 'tools'],
            ...['rpc.discover', '\u0000', MARK, 'm'.repeat(60_000)],
        ]) {
            for (const params of [undefined, {}, { name: MARK, cursor: MARK, level: 'debug', taskId: MARK }]) {
                const answer = await rpc(gateway.port, token, method, params, { id: 'i' });
                expectRefusal(answer, -32601, method.slice(0, 40));
                expect(answer.body).toEqual({ jsonrpc: '2.0', id: 'i', error: { code: -32601, message: expect.any(String) } });
            }
        }
    });
});
describe('-32602 params', () => {
    const bad = (method, params, parameter) => [
        method,
        params,
        'invalid_parameter',
        [`${parameter} invalid_parameter`],
    ];
    const hello = (member) => ({ ...initializeParams(), ...member });
    const list = (input) => ({ name: 'conversations_list', arguments: { website_id: WEB, ...input } });
    const summary = (input) => ({ name: 'performance_summary', arguments: input });
    const REFUSED = [
        ['initialize', {}, 'invalid_parameter', ['protocolVersion missing', 'capabilities missing', 'clientInfo missing']],
        bad('initialize', hello({ protocolVersion: 20251125 }), 'protocolVersion'),
        bad('initialize', hello({ capabilities: [MARK] }), 'capabilities'),
        ...[MARK, { name: MARK }, { name: MARK, version: 1 }].map((clientInfo) => bad('initialize', hello({ clientInfo }), 'clientInfo')),
        ...['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'].flatMap((method) => [MARK, '', null, 1, {}].map((cursor) => [method, { cursor }, 'invalid_cursor', ['cursor invalid_cursor']])),
        ['tools/call', undefined, 'invalid_parameter', ['name missing']],
        ['tools/call', { arguments: {} }, 'invalid_parameter', ['name missing']],
        ...[5, null, [MARK], {}].map((name) => bad('tools/call', { name }, 'name')),
        ...[[], [MARK], MARK, 1, null, true].map((value) => bad('tools/call', { name: 'websites_list', arguments: value }, 'arguments')),
        ...[MARK, '', 'Websites_list', 'websites_list ', 'constructor', '__proto__', 'toString'].map((name) => ['tools/call', { name }, 'not_permitted']),
        ['tools/call', { name: 'conversations_list' }, 'invalid_parameter', ['website_id missing']],
        ...[MARK, [WEB], 1, null, ''].map((website_id) => bad('tools/call', list({ website_id }), 'website_id')),
        ...[MARK, 101, 0, 1.5, '5'].map((limit) => bad('tools/call', list({ limit }), 'limit')),
        ['tools/call', list({ cursor: MARK }), 'invalid_cursor', ['cursor invalid_cursor']],
        ...['other', 'constructor', 'toString'].map((name) => [
            'tools/call',
            list({ [name]: MARK }),
            'unsupported_parameter',
            [`${name} unsupported_parameter`],
        ]),
        ['tools/call', list({ [`<${MARK}>`]: 1 }), 'unsupported_parameter', ['(unprintable) unsupported_parameter']],
        ['resources/read', undefined, 'invalid_parameter', ['uri missing']],
        ...[5, [MARK], null].map((uri) => bad('resources/read', { uri }, 'uri')),
        ...[
            MARK,
            '',
            'file:///etc/passwd',
            'gateway://',
            'gateway://context/',
            'gateway://context?x',
            'GATEWAY://context',
            'gateway://guides/../context',
            'gateway://guides/%6fverview',
            `gateway://guides/${'x'.repeat(101)}`,
        ].map((uri) => ['resources/read', { uri }, 'not_found']),
        ['prompts/get', undefined, 'invalid_parameter', ['name missing']],
        bad('prompts/get', { name: {} }, 'name'),
        ...[1, [], null, MARK].map((input) => bad('prompts/get', summary(input), 'arguments')),
        ...[1, [WEB], MARK].map((website_id) => bad('prompts/get', summary({ website_id, range: 'today' }), 'website_id')),
        bad('prompts/get', summary({ website_id: WEB, range: MARK }), 'range'),
        ['prompts/get', summary({}), 'invalid_parameter', ['website_id missing', 'range missing']],
        ...[MARK, 'constructor', ''].map((name) => ['prompts/get', { name }, 'not_permitted']),
    ];
    it('-32602 with HTTP 200: parameters by name and code, never a value or a word of a library', async () => {
        expect(REFUSED.length).toBeGreaterThan(60);
        for (const [method, params, code, errors] of REFUSED) {
            const where = `${method} ${JSON.stringify(params)}`;
            const answer = await rpc(gateway.port, token, method, params);
            expectRefusal(answer, -32602, where);
            const { data, message } = answer.body.error;
            expect(data.code, where).toBe(code);
            const named = errors?.map((text) => ({
                parameter: text.split(' ')[0],
                code: text.split(' ')[1],
                expected: expect.stringMatching(/^[^<>]{5,300}$/),
            }));
            expect(data.errors, where).toEqual(named);
            for (const { parameter } of named ?? [])
                expect(message, where).toContain(parameter);
        }
    });
    it('-32602 an argument named __proto__ is unknown like any other', async () => {
        for (const method of ['tools/call', 'prompts/get']) {
            const name = method === 'tools/call' ? 'websites_list' : 'performance_summary';
            const given = method === 'tools/call' ? '' : `"website_id":"${WEB}","range":"today",`;
            const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"name":"${name}","arguments":{${given}"__proto__":"x"}}}`;
            const answer = await post(gateway.port, token, body);
            expectRefusal(answer, -32602, body);
            expect(answer.body.error.data.errors).toEqual([
                { parameter: '__proto__', code: 'unsupported_parameter', expected: expect.any(String) },
            ]);
        }
    });
    it('-32602 at most 20 parameters are named, however many are wrong', async () => {
        const many = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`k${i}`, 'x']));
        for (const [method, name] of [
            ['tools/call', 'websites_list'],
            ['prompts/get', 'performance_summary'],
        ]) {
            const answer = await rpc(gateway.port, token, method, { name, arguments: many });
            expectRefusal(answer, -32602, method);
            expect(answer.body.error.data.errors.length, method).toBeLessThanOrEqual(20);
        }
    });
});
describe('what a refusal says to a model', () => {
    const refused = async (name, values, lacking) => {
        const issued = await gateway.issue(lacking);
        const { body } = await rpc(gateway.port, issued.token, 'tools/call', { name, arguments: values });
        return body.error?.message ?? body.result.content[1].text;
    };
    const BOTH = 'The credential lacks the scope message_content_read and the data access message_content. Scopes and data access are both needed.';
    it('names each scope and flag that is missing, and says that both are needed', async () => {
        const scopes = ALL_SCOPES.filter((scope) => scope !== 'message_content_read');
        const dataAccess = ALL_FLAGS.filter((flag) => flag !== 'message_content');
        const lacking = { scopes, dataAccess };
        const conversation_id = 'cnv_1_1_11';
        expect(await refused('conversation_messages', { conversation_id }, lacking)).toMatch(new RegExp(`${BOTH}$`));
        // Here the operation is granted, and only a parameter needs more.
        expect(await refused('conversations_list', { website_id: WEB, query: 'a' }, lacking)).toContain(BOTH);
        const scopeless = { scopes: scopes.filter((scope) => scope !== 'contact_read') };
        const alone = await refused('contact_get', { contact_id: 'ctc_1_1_1' }, scopeless);
        expect(alone).toContain('access_explain');
        expect(alone).toMatch(/lacks the scope contact_read\.$/);
    });
    it('says that the restrictions of the credential are the reason', async () => {
        const restricted = await refused('contacts_list', { website_id: WEB }, { teams: ['tem_1_1_1'] });
        expect(restricted).toMatch(/refuses a credential with restrictions\.$/);
    });
});
describe('params that are none of ours', () => {
    it('task and _meta on any request change nothing', async () => {
        const plain = { name: 'conversations_list', arguments: { website_id: WEB, limit: 2 } };
        const CASES = [
            ['tools/call', plain],
            ['tools/list', {}],
            ['resources/read', { uri: `gateway://capabilities/${WEB}` }],
            ['prompts/list', {}],
            ['ping', {}],
            ['initialize', initializeParams()],
        ];
        for (const [method, params] of CASES) {
            const expected = await rpc(gateway.port, token, method, params);
            expect(expected.body.error, method).toBeUndefined();
            for (const extra of [
                { task: { ttl: 60_000 } },
                { task: MARK },
                { _meta: { progressToken: 1 } },
                { _meta: { progressToken: MARK, 'io.modelcontextprotocol/related-task': { taskId: MARK } } },
                { _meta: MARK },
                { _meta: null },
                { unknown: MARK },
            ]) {
                const answer = await rpc(gateway.port, token, method, { ...params, ...extra });
                expect(answer.text, `${method} ${JSON.stringify(extra)}`).toBe(expected.text);
                expect(answer.headers['content-type']).toBe('application/json');
            }
        }
    });
});
describe('LG-01 what the log says of messages', () => {
    it('LG-01 the operation, never a method, a body, a header or a token of the caller', async () => {
        await sleep(50); // wait for the log lines of earlier requests
        gateway.log.splice(0);
        const bearer = await gateway.issue();
        const headers = { 'mcp-session-id': MARK, 'user-agent': MARK, cookie: MARK };
        const tool = { name: 'conversations_list', arguments: { website_id: WEB } };
        const requests = [
            () => rpc(gateway.port, bearer.token, 'tools/call', tool, { id: MARK, headers }),
            () => rpc(gateway.port, bearer.token, 'resources/read', { uri: 'gateway://context' }, { id: MARK, headers }),
            () => rpc(gateway.port, bearer.token, 'tools/call', { ...tool, arguments: { [MARK]: MARK } }),
            () => rpc(gateway.port, bearer.token, MARK, { [MARK]: MARK }),
            () => rpc(gateway.port, bearer.token, 'tools/call', { name: MARK }),
            () => rpc(gateway.port, bearer.token, 'tools/list'),
            () => post(gateway.port, bearer.token, `{"${MARK}`),
            () => post(gateway.port, bearer.token, `["${MARK}"]`),
            () => post(gateway.port, bearer.token, `{"jsonrpc":"2.0","method":"notifications/${MARK}"}`),
            () => post(gateway.port, bearer.token, '{}', { version: MARK }),
            () => post(gateway.port, bearer.token, '{}', { headers: { accept: MARK } }),
            () => post(gateway.port, bearer.token, '{}', { headers: { origin: MARK } }),
            () => post(gateway.port, bearer.token, '{}', { headers: { host: MARK } }),
            () => post(gateway.port, bearer.token, '{}', { path: `/mcp?${MARK}` }),
            () => post(gateway.port, MARK, `{"${MARK}`),
        ];
        const answers = [];
        for (const request of requests)
            answers.push(await request());
        for (let i = 0; i < 100 && gateway.log.length < requests.length; i++)
            await sleep(10);
        const entries = gateway.log.map((line) => JSON.parse(line));
        expect(entries.map(({ request_id }) => request_id)).toEqual(answers.map((one) => one.headers['x-request-id']));
        expect(entries.map(({ operation, status, code }) => [operation, status, code])).toEqual([
            ['conversations_list', 200, undefined],
            ['gateway_context', 200, undefined],
            ['conversations_list', 200, 'unsupported_parameter'],
            ['mcp', 200, '-32601'],
            ['mcp', 200, '-32602'],
            ['mcp', 200, undefined],
            ['mcp', 400, '-32700'],
            ['mcp', 400, '-32600'],
            ['mcp', 202, undefined],
            ['mcp', 400, '-32600'],
            ['mcp', 406, 'not_acceptable'],
            ['mcp', 403, 'origin_not_allowed'],
            ['mcp', 403, 'origin_not_allowed'],
            ['mcp', 400, 'unsupported_parameter'],
            ['mcp', 401, 'unauthenticated'],
        ]);
        const known = entries.slice(0, 11).map(({ credential }) => credential);
        expect(new Set(known)).toEqual(new Set([bearer.credential]));
        const all = gateway.log.join('');
        for (const secret of [MARK, bearer.token, bearer.token.slice(9), 'Bearer', 'website_id', WEB, 'jsonrpc', 'tools/'])
            expect(all.includes(secret), secret).toBe(false);
    });
});
//# sourceMappingURL=methods.test.js.map