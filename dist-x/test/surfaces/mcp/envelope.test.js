import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestGateway } from '../../support/gateway.js';
import { post } from '../../support/surfaces/mcp.js';
import { WEB } from '../../support/surfaces/wire.js';
let gateway;
let token;
beforeAll(async () => {
    gateway = await openTestGateway();
    ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());
const LIMIT = 65_536;
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const send = (body) => post(gateway.port, token, body);
const call = (text, tool = 'conversations_list') => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":${text}}}`;
const nested = (depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
function expectError(answer, code, id, where) {
    expect(answer.status, where).toBe(400);
    expect(answer.headers['content-type'], where).toBe('application/json');
    expect(answer.headers['ratelimit'], where).toMatch(/^"app";r=\d+;t=\d+$/);
    expect(answer.body, where).toEqual({ jsonrpc: '2.0', id, error: { code, message: expect.any(String) } });
    expect(answer.body.error.message, where).not.toMatch(/MCP error|Zod|SyntaxError|Unexpected|position/);
}
describe('MC-08 the size of a body', () => {
    const padded = (size) => [
        PING.padEnd(size),
        `${' '.repeat(size - PING.length)}${PING}`,
        `{"jsonrpc":"2.0","id":"${'i'.repeat(size - PING.length - 1)}","method":"ping"}`,
        // Here the padding has two bytes for each character, because the limit counts bytes and not characters.
        `{"jsonrpc":"2.0","id":"${'é'.repeat((size - PING.length - 2) >> 1)}${size % 2 === 0 ? 'x' : 'xx'}","method":"ping"}`,
    ];
    it('MC-08 65,536 bytes are read, with their length announced or in chunks', async () => {
        for (const body of padded(LIMIT)) {
            expect(Buffer.byteLength(body)).toBe(LIMIT);
            for (const chunked of [false, true]) {
                const { status, body: answer } = await post(gateway.port, token, body, { chunked });
                expect(status).toBe(200);
                expect(answer.result).toEqual({});
            }
        }
    });
    it('MC-08 65,537 and more are refused with -32700 and HTTP 400, announced or in chunks', async () => {
        const bodies = [...padded(LIMIT + 1), PING.padEnd(1_000_000)];
        for (const body of bodies) {
            for (const chunked of [false, true]) {
                const answer = await post(gateway.port, token, body, { chunked });
                expectError(answer, -32700, null, `${body.length} chunked: ${chunked}`);
                expect(answer.headers['connection']).toBe('close');
            }
        }
    });
    it('MC-08 one that is read in full is refused whatever its length says', async () => {
        expectError(await send(''), -32700, null, 'no body');
        expectError(await post(gateway.port, token, undefined), -32700, null, 'no length');
    });
    /**
     * A client that sends "Expect: 100-continue" and waits for permission to send its body. The client gives up when the
     * final answer comes first.
     */
    const hesitant = (body, size, bearer = token) => new Promise((resolve, reject) => {
        let continued = false;
        const request = httpRequest({
            host: '127.0.0.1',
            port: gateway.port,
            path: '/mcp',
            method: 'POST',
            headers: {
                accept: 'application/json, text/event-stream',
                'content-type': 'application/json',
                authorization: `Bearer ${bearer}`,
                expect: '100-continue',
                ...(size > 0 ? { 'content-length': size } : { 'transfer-encoding': 'chunked' }),
            },
        });
        request.on('continue', () => {
            continued = true;
            request.end(body);
        });
        request.on('response', (response) => {
            let text = '';
            response.setEncoding('utf8');
            response.on('data', (part) => {
                text += part;
            });
            response.on('end', () => {
                request.destroy();
                resolve({ continued, status: response.statusCode ?? 0, text });
            });
        });
        request.on('error', reject);
        request.flushHeaders();
    });
    it('MC-08 Expect: 100-continue: a good body is asked for and served, a large one never asked for', async () => {
        for (const size of [PING.length, 0]) {
            const answer = await hesitant(PING, size);
            expect(answer).toMatchObject({ continued: true, status: 200, text: '{"jsonrpc":"2.0","id":1,"result":{}}' });
        }
        const full = PING.padEnd(LIMIT);
        expect(await hesitant(full, LIMIT)).toMatchObject({ continued: true, status: 200 });
        const large = await hesitant('', LIMIT + 1);
        expect(large).toMatchObject({ continued: false, status: 400 });
        expect(JSON.parse(large.text).error.code).toBe(-32700);
        expect(await hesitant(PING.padEnd(LIMIT + 1), 0)).toMatchObject({ continued: true, status: 400 });
        expect(await hesitant(PING, PING.length, 'not a token')).toMatchObject({ continued: false, status: 401 });
    });
});
describe('MC-08 the JSON of a body', () => {
    const bytes = (...parts) => Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));
    const around = (inside) => bytes('{"jsonrpc":"2.0","id":"', inside, '","method":"ping"}');
    it('MC-08 what is not UTF-8 -> -32700', async () => {
        for (const [what, body] of [
            ['a stray continuation', around([0x80])],
            ['Latin-1', around([0xe9])],
            ['an overlong slash', around([0xc0, 0xaf])],
            ['a surrogate', around([0xed, 0xa0, 0x80])],
            ['beyond Unicode', around([0xf4, 0x90, 0x80, 0x80])],
            ['cut off', around([0xe2, 0x82])],
            ['0xFF', bytes([0xff], PING)],
            ['a byte order mark', bytes([0xef, 0xbb, 0xbf], PING)],
            ['UTF-16', Buffer.from(`\ufeff${PING}`, 'utf16le')],
            ['UTF-16 without a mark', Buffer.from(PING, 'utf16le')],
        ])
            expectError(await send(body), -32700, null, what);
    });
    it('MC-08 what is not JSON -> -32700', async () => {
        for (const body of [
            ' ',
            '{',
            PING.slice(0, -1),
            `${PING}x`,
            `${PING}${PING}`,
            `${PING},`,
            `/**/${PING}`,
            PING.replaceAll('"', "'"),
            PING.replace('1,', '01,'),
            PING.replace('1,', 'NaN,'),
            PING.replace('1,', '+1,'),
            PING.replace('"ping"', '"pi\nng"'),
            PING.replace('"ping"', '"\\x41"'),
            PING.replace('}', ',}'),
            `\u0000${PING}`,
            `\u00a0${PING}`,
        ])
            expectError(await send(body), -32700, null, JSON.stringify(body));
    });
    it('MC-08 unpaired surrogates, numbers beyond a double, too deep, too many -> -32700', async () => {
        const many = (n) => `{${Array.from({ length: n }, (_, i) => `"k${i}":0`).join(',')}}`;
        for (const body of [
            PING.replace('1,', '"\\ud800",'),
            PING.replace('1,', '"\\udc00\\ud800",'),
            PING.replace('ping', '\\ud83dping'),
            call('{"\\ud800":1}'),
            call('{"website_id":"\\udfff"}'),
            PING.replace('1,', '1e999,'),
            call('{"limit":1e999}'),
            call('{"limit":[[-1e309]]}'),
            call(`{"limit":${'9'.repeat(400)}}`),
            nested(33),
            nested(10_000),
            '['.repeat(LIMIT),
            '{"a":'.repeat(10_000),
            call(nested(31)),
            call(many(1_001)),
        ])
            expectError(await send(body), -32700, null, body.slice(0, 120));
        // These bodies are just within the limits of the parser. The parser accepts these bodies, and a later check refuses
        // them. The arguments of a call are at depth 3.
        expectError(await send(nested(32)), -32600, null, 'depth 32');
        expect((await send(call(`{"limit":${nested(29)}}`))).body.error.code).toBe(-32602);
        expect((await send(call(many(994)))).body.error.code).toBe(-32602);
        expect((await send(PING.replace('1,', '"\\ud83d\\ude00",'))).body.id).toBe('😀');
        expect((await send(PING.replace('1,', '1e-999,'))).body.id).toBe(0);
    });
    it('MC-08 a member twice -> -32700, wherever it stands and however it is spelled', async () => {
        for (const body of [
            '{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}',
            '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
            '{"jsonrpc":"2.0","id":1,"method":"tools/list","m\\u0065thod":"ping"}',
            call(`{"website_id":"web_1_2","website_id":"${WEB}"}`),
            call(`{"website_id":"web_1_2","website\\u005fid":"${WEB}"}`),
            call('{"a":{"b":[{"c":1,"c":1}]}}'),
            call('{"__proto__":1,"__proto__":2}'),
            call('{"constructor":1,"constructor":2}'),
            call('{"":1,"":1}'),
            '[{"a":1,"a":1}]',
        ])
            expectError(await send(body), -32700, null, body);
    });
});
describe('MC-09 the envelope', () => {
    it('MC-09 batches -> -32600', async () => {
        for (const body of ['[]', '[{}]', '[1]', `[${PING}]`, `[${PING},${PING}]`, '[[]]', '[null]'])
            expectError(await send(body), -32600, null, body);
    });
    it('MC-09 what is no message -> -32600, under its id where it has a good one', async () => {
        const REFUSED = [
            ['null', null],
            ['1', null],
            ['"ping"', null],
            ['true', null],
            ['{}', null],
            ['{"jsonrpc":"2.0"}', null],
            ['{"jsonrpc":"2.0","id":1}', 1],
            ['{"id":1,"method":"ping"}', 1],
            ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 1],
            ['{"jsonrpc":2,"id":1,"method":"ping"}', 1],
            ['{"jsonrpc":"2.0 ","id":1,"method":"ping"}', 1],
            ['{"JSONRPC":"2.0","id":1,"method":"ping"}', 1],
            ['{"jsonrpc":"2.0","id":1,"method":""}', 1],
            ['{"jsonrpc":"2.0","id":1,"method":5}', 1],
            ['{"jsonrpc":"2.0","id":1,"method":null}', 1],
            ['{"jsonrpc":"2.0","id":"a","method":["ping"]}', 'a'],
            ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 1],
            ['{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 1],
            ['{"jsonrpc":"2.0","id":1,"method":"ping","params":null}', 1],
            ['{"jsonrpc":"2.0","id":1,"method":"ping","params":1}', 1],
            ['{"jsonrpc":"2.0","id":1,"method":"ping","x":1}', 1],
            ['{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{}}', 1],
            ['{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', 1],
            ['{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}', 1],
            ['{"jsonrpc":"2.0","result":{}}', null],
            ['{"jsonrpc":"2.0","id":null,"result":{}}', null],
            ['{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}', null],
            ['{"jsonrpc":"2.0","method":5}', null],
            ['{"__proto__":{"jsonrpc":"2.0","id":1,"method":"ping"}}', null],
        ];
        for (const [body, id] of REFUSED)
            expectError(await send(body), -32600, id, body);
    });
    it('MC-09 ids: strings and integers come back as they were, anything else -> -32600', async () => {
        for (const id of [
            ...['1', '-1', '0', '9007199254740991', '-9007199254740991', '""', '"1"', '"x y"', '"\\u0000"', '"__proto__"'],
        ]) {
            const { status, body } = await send(PING.replace('1,', `${id},`));
            expect(status, id).toBe(200);
            expect(body).toEqual({ jsonrpc: '2.0', id: JSON.parse(id), result: {} });
        }
        for (const id of [
            ...['null', '{}', '[]', '1.5', '-0.1', '9007199254740992', '1e300', 'true', 'false', '{"a":1}', '[1]'],
        ])
            expectError(await send(PING.replace('1,', `${id},`)), -32600, null, id);
    });
    it('MC-09 notifications of any name, and answers to what was never asked -> 202 with nothing', async () => {
        for (const body of [
            '{"jsonrpc":"2.0","method":"notifications/initialized"}',
            '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"x"}}',
            '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
            '{"jsonrpc":"2.0","method":"notifications/nothing"}',
            '{"jsonrpc":"2.0","method":"constructor"}',
            // A message without an id is a notification, even when its method is that of a request. The gateway neither runs
            // nor answers a notification.
            '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"nothing"}}',
            '{"jsonrpc":"2.0","id":1,"result":{}}',
            '{"jsonrpc":"2.0","id":"x","error":{"code":-32000,"message":"x"}}',
            '{"jsonrpc":"2.0","id":1,"result":null,"error":null}',
        ]) {
            const answer = await send(body);
            expect(answer.status, body).toBe(202);
            expect(answer.text).toBe('');
            expect(answer.headers['content-type']).toBeUndefined();
            expect(answer.headers['ratelimit']).toMatch(/^"app";/);
        }
    });
});
//# sourceMappingURL=envelope.test.js.map