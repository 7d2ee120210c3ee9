import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSecret } from '../../../src/auth/tokens.ts';
import { SCOPES } from '../../../src/core/scopes.ts';
import type { Answer } from '../../support/answer.ts';
import type { Issued } from '../../support/credentials.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { initializeParams, type McpOptions, post, rpc } from '../../support/surfaces/mcp.ts';
import { parse, raw, WEB } from '../../support/surfaces/wire.ts';

let gateway: TestGateway;
let token: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());

const message = (method: string, params?: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params && { params }) });
const PING = message('ping');

const BODIES: readonly (readonly [what: string, body: string])[] = [
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

function expectUnauthorized(answer: Answer, where: string, code: string, sent = true): void {
  expect(answer.status, where).toBe(401);
  expect(answer.headers['content-type'], where).toBe('application/problem+json');
  expect(answer.headers['www-authenticate'], where).toBe(
    sent ? `Bearer error="invalid_token", ${METADATA}` : `Bearer ${METADATA}`,
  );
  expect(answer.headers['ratelimit'], where).toBeUndefined();
  expect(answer.body, where).toMatchObject({ status: 401, code, type: `${BASE_URL}/problems/${code}` });
  expect(answer.body.request_id, where).toBe(answer.headers['x-request-id']);
}

type Ending = 'token revoked' | 'token expired' | 'credential revoked' | 'credential expired';

async function end({ credential }: Issued, how: Ending): Promise<void> {
  const { sql } = gateway.database;
  const past = sql`now() - interval '1 millisecond'`;
  if (how === 'token revoked')
    await sql`UPDATE gateway.token SET revoked_at = ${past} WHERE credential_id = ${credential}`;
  if (how === 'token expired')
    await sql`UPDATE gateway.token SET expires_at = ${past} WHERE credential_id = ${credential}`;
  if (how === 'credential revoked')
    await sql`UPDATE gateway.credential SET revoked_at = ${past} WHERE id = ${credential}`;
  if (how === 'credential expired')
    await sql`UPDATE gateway.credential SET expires_at = ${past} WHERE id = ${credential}`;
}
const codeAfter = (how: Ending): string => (how.endsWith('revoked') ? 'token_revoked' : 'token_expired');

describe('MC-01 no message without a token that is valid now', () => {
  const good = newSecret('installation_test');
  const BAD: readonly (readonly [what: string, authorization: string | undefined])[] = [
    ['none', undefined],
    ['empty', ''],
    ['the scheme alone', 'Bearer'],
    ['another scheme', `Basic ${Buffer.from(`a:${good}`).toString('base64')}`],
    ['no scheme', good],
    ['malformed', 'Bearer igw_test_short'],
    ['bad checksum', `Bearer ${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}`],
    ['unknown', `Bearer ${good}`],
    ['a client secret', `Bearer ${newSecret('secret')}`],
    ['two', `Bearer ${good} ${good}`],
    ['another format', 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.'],
  ];

  // This test covers MC-02 for tokens with a wrong format. The OAuth tests cover MC-02 for tokens with another
  // audience.
  it.each(BAD)('MC-01 MC-02 token: %s -> 401 for every method and body', async (_, authorization) => {
    for (const [what, body] of BODIES) {
      const answer = await post(gateway.port, undefined, body, { headers: { authorization } });
      expectUnauthorized(answer, what, 'unauthenticated', authorization !== undefined);
    }
  });

  it('MC-01 expired, revoked and rotated tokens -> 401 for every method and body, known here before or not', async () => {
    const endings: readonly Ending[] = ['token revoked', 'token expired', 'credential revoked', 'credential expired'];
    for (const how of endings) {
      const issued = await gateway.issue();
      await end(issued, how);
      for (const [what, body] of BODIES) {
        expectUnauthorized(await post(gateway.port, issued.token, body), `${how} ${what}`, codeAfter(how));
      }
    }
  });

  it('MC-01 a token that ends while its authority is remembered gives 401 at the very next request', async () => {
    const endings: readonly Ending[] = ['token revoked', 'credential expired'];
    for (const [what, body] of BODIES) {
      for (const how of endings) {
        const issued = await gateway.issue();
        // First send a call and a ping, so that the gateway has the authority and some leased units in its memory.
        const call = await rpc(gateway.port, issued.token, 'tools/call', { name: 'websites_list' });
        expect(call.body.result.isError).toBe(false);
        expect((await post(gateway.port, issued.token, PING)).status).toBe(200);
        await end(issued, how);
        expectUnauthorized(await post(gateway.port, issued.token, body), `${how} ${what}`, codeAfter(how));
      }
    }
  });

  it('MC-01 bad headers do not come before the proof of the token', async () => {
    const issued = await gateway.issue();
    await end(issued, 'token revoked');
    const broken: readonly NonNullable<McpOptions['headers']>[] = [
      { accept: undefined },
      { accept: 'text/html' },
      { 'content-type': 'text/plain' },
      { 'content-encoding': 'gzip' },
      { 'mcp-protocol-version': 'x' },
    ];
    for (const headers of broken) {
      const where = JSON.stringify(headers);
      expectUnauthorized(await post(gateway.port, undefined, PING, { headers }), where, 'unauthenticated', false);
      expectUnauthorized(await post(gateway.port, good, PING, { headers }), where, 'unauthenticated');
      expectUnauthorized(await post(gateway.port, issued.token, PING, { headers }), where, 'token_revoked');
    }
  });

  it('MC-01 without a token the body is not waited for', async () => {
    const head = ['POST /mcp HTTP/1.1', 'Host: 127.0.0.1', 'Connection: close', 'Content-Length: 1000', '', ''].join(
      '\r\n',
    );
    const { text, closed } = await raw(gateway.port, head, { patience: 5_000 });
    expect(parse(text).status).toBe(401);
    expect(closed).toBe(true);
  });

  it('MC-01 two Authorization headers are refused, whichever is good', async () => {
    for (const tokens of [
      [token, good],
      [good, token],
      [token, token],
    ]) {
      const authorization = tokens.map((one) => `Bearer ${one}`);
      const lines = authorization.map((value) => `Authorization: ${value}`);
      const head = [
        'POST /mcp HTTP/1.1',
        'Host: 127.0.0.1',
        ...lines,
        'Connection: close',
        `Content-Length: ${PING.length}`,
        '',
        PING,
      ];
      expect(parse((await raw(gateway.port, head.join('\r\n'))).text).status).toBe(400);
    }
  });
});

describe('MC-03 origins', () => {
  const FOREIGN = [
    'https://evil.example',
    'null',
    '',
    '*',
    'http://127.0.0.1',
    'http://127.0.0.1:8421',
    'http://127.0.0.1:84200',
    'https://127.0.0.1:8420',
    'http://localhost:8420',
    'http://a.127.0.0.1:8420',
    'http://127.0.0.1.evil.example:8420',
    'http://127.0.0.1:8420.evil.example',
    'http://127.0.0.1:8420@evil.example',
    'http://evil.example#http://127.0.0.1:8420',
    'HTTP://127.0.0.1:8420',
    'Http://127.0.0.1:8420',
    'http://127.0.0.1:8420/',
    'http://127.0.0.1:8420 http://evil.example',
    'file://',
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
      'evil.example',
      'evil.example:8420',
      'localhost.evil.example',
      'evil-localhost',
      '127.0.0.1.evil.example',
      '127.0.0.1@evil.example',
      'evil.example@127.0.0.1',
      '127.0.0.1:8420:1',
      '127.0.0.1:',
      'localhost.',
      '169.254.169.254',
      '10.0.0.1:8420',
      '0.0.0.0:8420',
      '[::2]:8420',
      '2130706433',
      '0x7f.1',
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
      '127.0.0.1',
      '127.0.0.1:8420',
      'localhost',
      'LocalHost:1',
      '127.1.2.3:80',
      '[::1]',
      '[::1]:8420',
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
