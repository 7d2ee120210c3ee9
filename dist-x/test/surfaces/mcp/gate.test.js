import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES } from '../../../src/core/scopes.js';
import { BASE_URL, openTestGateway } from '../../support/gateway.js';
import { codeAfter, describeGate, end, unauthorized } from '../../support/surfaces/gate.js';
import { initializeParams, post, rpc } from '../../support/surfaces/mcp.js';
import { message } from '../../support/surfaces/rpc.js';
import { parse, raw, WEB } from '../../support/surfaces/wire.js';
let gateway;
let token;
beforeAll(async () => {
    gateway = await openTestGateway();
    ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());
const PING = message('ping');
const BODIES = [
    ['initialize', message('initialize', initializeParams())],
    ['ping', PING],
    ['tools/list', message('tools/list')],
    ['tools/call', message('tools/call', { name: 'conversations_list', arguments: { website_id: WEB } })],
    ['tools/call that reads no data', message('tools/call', { name: 'gateway_context' })],
    ['tools/call with bad arguments', message('tools/call', { name: 'conversations_list', arguments: { x: 1 } })],
    ['tools/call of no tool', message('tools/call', { name: 'nothing' })],
    ['tools/call without params', message('tools/call')],
    ['resources/list', message('resources/list')],
    ['resources/templates/list', message('resources/templates/list')],
    ['resources/read', message('resources/read', { uri: 'gateway://context' })],
    ['resources/read of nothing', message('resources/read', { uri: 'gateway://nothing' })],
    ['prompts/list', message('prompts/list')],
    [
        'prompts/get',
        message('prompts/get', { name: 'performance_summary', arguments: { website_id: WEB, range: 'today' } }),
    ],
    ['prompts/get of nothing', message('prompts/get', { name: 'nothing' })],
    ['an unknown method', message('sampling/createMessage')],
    ['notifications/initialized', '{"jsonrpc":"2.0","method":"notifications/initialized"}'],
    ['notifications/cancelled', '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'],
    ['a response', '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ['a batch', `[${PING}]`],
    ['no JSON', '{"jsonrpc":'],
    ['nothing', ''],
    ['bytes beyond the limit', PING.padEnd(65_537)],
];
const METADATA = `resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource/mcp", scope="${SCOPES.join(' ')}"`;
// The tokens with a wrong format are part of MC-02. The OAuth tests cover MC-02 for tokens with another audience.
describeGate({
    check: 'MC-01',
    path: '/mcp',
    challenge: METADATA,
    post,
    gateway: () => gateway,
    bodies: BODIES,
    good: PING,
    broken: [
        { headers: { accept: undefined } },
        { headers: { accept: 'text/html' } },
        { headers: { 'content-type': 'text/plain' } },
        { headers: { 'content-encoding': 'gzip' } },
        { version: 'x' },
    ],
});
it('MC-01 a token that ends while its authority is remembered gives 401 at the very next request', async () => {
    for (const [i, [what, body]] of BODIES.entries()) {
        const how = i % 2 === 0 ? 'token revoked' : 'credential expired';
        const issued = await gateway.issue();
        // First send a call and a ping, so that the gateway has the authority and some leased units in its memory.
        const call = await rpc(gateway.port, issued.token, 'tools/call', { name: 'websites_list' });
        expect(call.body.result.isError).toBe(false);
        expect((await post(gateway.port, issued.token, PING)).status).toBe(200);
        await end(gateway, issued, how);
        unauthorized(METADATA)(await post(gateway.port, issued.token, body), `${how} ${what}`, codeAfter(how));
    }
});
describe('MC-03 origins', () => {
    const FOREIGN = [
        ...['https://evil.example', 'null', '', '*', 'http://127.0.0.1', 'http://127.0.0.1:8421'],
        ...['http://127.0.0.1:84200', 'https://127.0.0.1:8420', 'http://localhost:8420', 'http://a.127.0.0.1:8420'],
        ...['http://127.0.0.1.evil.example:8420', 'http://127.0.0.1:8420.evil.example'],
        ...['http://127.0.0.1:8420@evil.example', 'http://evil.example#http://127.0.0.1:8420', 'HTTP://127.0.0.1:8420'],
        ...['Http://127.0.0.1:8420', 'http://127.0.0.1:8420/', 'http://127.0.0.1:8420 http://evil.example', 'file://'],
        'chrome-extension://abcdefghijklmnop',
    ];
    it('MC-03 any other origin -> 403 before the token and the body are looked at', async () => {
        for (const origin of FOREIGN) {
            for (const bearer of [undefined, 'x', token]) {
                for (const body of [PING, '{', '[]']) {
                    const answer = await post(gateway.port, bearer, body, { headers: { origin } });
                    expect(answer.status, origin).toBe(403);
                    expect(answer.headers['content-type']).toBe('application/problem+json');
                    expect(answer.body.code).toBe('origin_not_allowed');
                    // The gateway refused the origin before it checked the token, so no app was charged.
                    expect(answer.headers['ratelimit']).toBeUndefined();
                    expect(answer.headers['www-authenticate']).toBeUndefined();
                    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
                }
            }
        }
        for (const verb of ['GET', 'OPTIONS', 'DELETE']) {
            const answer = await post(gateway.port, token, undefined, { verb, headers: { origin: 'https://evil.example' } });
            expect(answer.status, verb).toBe(403);
        }
        const head = [
            'POST /mcp HTTP/1.1',
            'Host: 127.0.0.1',
            'Origin: null',
            'Connection: close',
            'Content-Length: 1000',
            '',
            '',
        ].join('\r\n');
        expect(parse((await raw(gateway.port, head)).text).status).toBe(403);
    });
    it('MC-03 our own origin and none are served; two Origin headers are not', async () => {
        for (const origin of [BASE_URL, undefined]) {
            const answer = await post(gateway.port, token, PING, { headers: { origin } });
            expect(answer.body).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
            expect(answer.headers['access-control-allow-origin']).toBeUndefined();
            expect((await post(gateway.port, undefined, PING, { headers: { origin } })).status).toBe(401);
        }
        const twice = await post(gateway.port, token, PING, { headers: { origin: [BASE_URL, 'https://evil.example'] } });
        expect(twice.status).toBe(400);
    });
});
describe('MC-04 DNS rebinding', () => {
    it('MC-04 a foreign Host over loopback -> 403 before the token is looked at', async () => {
        for (const host of [
            ...['evil.example', 'evil.example:8420', 'localhost.evil.example', 'evil-localhost', '127.0.0.1.evil.example'],
            ...['127.0.0.1@evil.example', 'evil.example@127.0.0.1', '127.0.0.1:8420:1', '127.0.0.1:', 'localhost.'],
            ...['169.254.169.254', '10.0.0.1:8420', '0.0.0.0:8420', '[::2]:8420', '2130706433', '0x7f.1'],
        ]) {
            for (const bearer of [undefined, token]) {
                const answer = await post(gateway.port, bearer, PING, { headers: { host } });
                expect(answer.status, host).toBe(403);
                expect(answer.body.code).toBe('origin_not_allowed');
            }
        }
        // node:http replaces an empty Host header, so write the request by hand.
        const empty = `POST /mcp HTTP/1.1\r\nHost:\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`;
        expect(parse((await raw(gateway.port, empty)).text).status).toBe(403);
        const bare = `POST /mcp HTTP/1.0\r\nAuthorization: Bearer ${token}\r\nContent-Length: 2\r\n\r\n{}`;
        expect(parse((await raw(gateway.port, bare)).text).status).toBe(403);
        const hostless = bare.replace('1.0', '1.1').replace('Content', 'Connection: close\r\nContent');
        expect(parse((await raw(gateway.port, hostless)).text).status).toBe(400);
    });
    it('MC-04 names of loopback and our own are served', async () => {
        for (const host of [
            ...['127.0.0.1', '127.0.0.1:8420', 'localhost', 'LocalHost:1', '127.1.2.3:80', '[::1]', '[::1]:8420'],
        ])
            expect((await post(gateway.port, token, PING, { headers: { host } })).status, host).toBe(200);
    });
});
describe('MC-05 methods and sessions', () => {
    it('MC-05 anything but POST -> 405 with Allow: POST, whoever asks', async () => {
        for (const verb of ['GET', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY']) {
            for (const bearer of [undefined, token]) {
                for (const headers of [{}, { accept: 'text/event-stream' }, { 'mcp-session-id': 'a', 'last-event-id': '1' }]) {
                    const answer = await post(gateway.port, bearer, undefined, { verb, headers });
                    expect(answer.status, verb).toBe(405);
                    expect(answer.headers['allow']).toBe('POST');
                    expect(answer.text === '').toBe(verb === 'HEAD');
                }
            }
        }
        expect((await post(gateway.port, token, PING, { verb: 'PUT' })).status).toBe(405);
    });
    it('MC-05 a session header is neither needed nor minded, and none is ever given', async () => {
        for (const session of ['1', 'x'.repeat(1_000), ['a', 'b']]) {
            const answer = await post(gateway.port, token, PING, { headers: { 'mcp-session-id': session } });
            expect(answer.body.result).toEqual({});
        }
        // `post` fails when an answer has a session header. A server with sessions would send this header in the answer to
        // `initialize`.
        expect((await rpc(gateway.port, token, 'initialize', initializeParams())).status).toBe(200);
    });
});
//# sourceMappingURL=gate.test.js.map