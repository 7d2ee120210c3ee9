import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../support/answer.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { initializeParams, MODERN, OFFERED, post, rpc } from '../../support/surfaces/mcp.ts';

let gateway: TestGateway;
let token: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());

const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
const ask = (headers: Readonly<Record<string, string | readonly string[] | undefined>>): Promise<Answer> =>
  post(gateway.port, token, PING, { headers });

function expectProblem(answer: Answer, status: number, code: string, where: string): void {
  expect(answer.status, where).toBe(status);
  expect(answer.headers['content-type'], where).toBe('application/problem+json');
  expect(answer.body, where).toMatchObject({ status, code, request_id: answer.headers['x-request-id'] });
}

describe('MC-06 Accept', () => {
  it('MC-06 both types, in any order, case, spacing, quality above 0, or by wildcard', async () => {
    for (const accept of [
      'application/json, text/event-stream',
      'text/event-stream, application/json',
      'text/event-stream,application/json',
      '  application/json\t,\ttext/event-stream  ',
      'Application/JSON, TEXT/Event-Stream',
      'application/json;q=0.001, text/event-stream;q=1',
      'text/html, application/json;q=0.9, text/event-stream;q=0.1, */*;q=0',
      ['application/json', 'text/event-stream'],
      '*/*',
      'application/*, text/*',
      'application/json, */*;q=0.1',
      'application/json; charset=utf-8, text/event-stream',
      'application/json ;charset="UTF-8";q=0.5, text/event-stream; charset=utf-8',
    ])
      expect((await ask({ accept })).status, String(accept)).toBe(200);
  });

  it('MC-06 none, nothing, one alone or one refused -> 406', async () => {
    for (const accept of [
      undefined,
      'application/json',
      'text/event-stream',
      'application/*',
      'text/html, text/event-stream',
      'application/json;q=0, text/event-stream',
      'application/json, text/event-stream;q=0',
      'application/json, text/event-stream;q=0.000',
      'application/json;q=0, */*',
      '*/*;q=0',
      'application/jsonx, text/event-streams',
      'xapplication/json, text/event-stream',
      'application/json text/event-stream',
      '"application/json, text/event-stream"',
      'application/problem+json, text/event-stream',
      ',',
      ';;;',
      ';charset=utf-8',
      'application/json; charset=utf-8',
      'application/json; charset=utf-8; q=0, text/event-stream',
      'application/json; version=1, text/event-stream',
    ])
      expectProblem(await ask({ accept }), 406, 'not_acceptable', `Accept: ${accept}`);
  });

  it('MC-06 an empty Accept names neither type -> 406', async () => {
    expectProblem(await ask({ accept: '' }), 406, 'not_acceptable', 'empty');
  });
});

describe('MC-06 Content-Type and Content-Encoding', () => {
  it('MC-06 JSON, in UTF-8 where a charset is named', async () => {
    for (const type of [
      ...['application/json', 'Application/JSON', 'application/json;charset=utf-8'],
      ...['application/json; charset=UTF-8', 'application/json; Charset="Utf-8"'],
      'APPLICATION/JSON ;\tCHARSET="UTF-8"',
      ...[
        'application/json;',
        'application/json; ;; ',
        'application/json; charset=utf-8;',
        'application/json;;charset=utf-8 ; ',
      ],
    ])
      expect((await ask({ 'content-type': type })).status, type).toBe(200);
    expect((await ask({ 'content-encoding': 'identity' })).status).toBe(200);
  });

  it('MC-06 anything else -> 415', async () => {
    for (const type of [
      ...[undefined, '', 'text/plain', 'text/json', 'application/jsonp', 'xapplication/json', 'application/json-rpc'],
      ...['application/vnd.api+json', 'application/x-www-form-urlencoded'],
      ...['multipart/form-data; boundary=application/json', 'application/json, text/plain'],
      ...['application/json; charset=latin1', 'application/json; charset=utf-16', 'application/json; charset=utf-8x'],
      ...['application/json; charset=utf-8; charset=utf-16', 'application/json charset=utf-8'],
      ...['application/json;; charset=latin1', 'application/json; charset=utf-8; profile=x', 'application/json;,'],
    ])
      expectProblem(await ask({ 'content-type': type }), 415, 'unsupported_media_type', `Content-Type: ${type}`);
    for (const encoding of ['gzip', 'br', 'deflate', 'GZIP', 'identity, gzip', 'zstd', '*'])
      expectProblem(await ask({ 'content-encoding': encoding }), 415, 'unsupported_media_type', encoding);
  });

  it('MC-06 a charset that is half quoted -> 415', async () => {
    for (const type of ['application/json; charset="utf-8', 'application/json; charset=utf-8"'])
      expectProblem(await ask({ 'content-type': type }), 415, 'unsupported_media_type', type);
  });

  it('MC-08 a compressed body -> 415 and never inflated, be it a bomb', async () => {
    for (const body of [gzipSync(PING), gzipSync(Buffer.alloc(16 * 1024 * 1024, ' '))]) {
      const began = performance.now();
      const answer = await post(gateway.port, token, body, { headers: { 'content-encoding': 'gzip' } });
      expectProblem(answer, 415, 'unsupported_media_type', 'gzip');
      expect(performance.now() - began).toBeLessThan(1_000);
    }
    // The request has no Content-Encoding header, so the gateway cannot know that the body is compressed. The gateway
    // therefore treats the body as malformed JSON.
    expect((await post(gateway.port, token, gzipSync(PING))).body.error.code).toBe(-32700);
  });

  it('MC-06 two Content-Type headers -> 400', async () => {
    expect((await ask({ 'content-type': ['application/json', 'application/json'] })).status).toBe(400);
  });
});

describe('MC-06 the address', () => {
  it('MC-06 a query string -> 400, even an empty one, and nothing is run', async () => {
    for (const path of ['/mcp?', '/mcp?x=1', '/mcp?access_token=x', '/mcp??', '/mcp?/mcp', '/mcp?%00']) {
      const answer = await post(gateway.port, token, PING, { path });
      expectProblem(answer, 400, 'unsupported_parameter', path);
      const parameter =
        { '/mcp?': '?', '/mcp?x=1': 'x', '/mcp?access_token=x': 'access_token' }[path] ?? '(unprintable)';
      const named = { parameter, code: 'unsupported_parameter', expected: 'no parameters' };
      expect(answer.body.errors, path).toEqual([named]);
      // The gateway refuses the path before it checks the token. No app is charged, and the answer is the same without
      // a token.
      expect(answer.headers['ratelimit'], path).toBeUndefined();
      expect((await post(gateway.port, undefined, PING, { path })).status, path).toBe(400);
    }
  });

  it('MC-06 one slash after the path names the same endpoint, and nothing more does', async () => {
    const told = async (bearer: string | undefined, verb: string, path: string): Promise<unknown> => {
      const { status, headers, text } = await post(gateway.port, bearer, verb === 'POST' ? LIST : undefined, {
        verb,
        path,
      });
      return [status, headers['allow'], headers['www-authenticate'], text.replace(/req_\w+/, '')];
    };
    for (const bearer of [token, undefined])
      for (const verb of ['POST', 'GET', 'DELETE', 'OPTIONS']) {
        const bare = await told(bearer, verb, '/mcp');
        expect(bare).toContain(verb !== 'POST' ? 405 : bearer === undefined ? 401 : 200);
        expect(await told(bearer, verb, '/mcp/'), verb).toEqual(bare);
        for (const path of ['/mcp//', '/mcp/x', '/mcp/mcp/'])
          expect(await told(bearer, verb, path), path).toContain(404);
      }
    for (const path of ['/mcp/?', '/mcp/?x=1'])
      expectProblem(await post(gateway.port, token, PING, { path }), 400, 'unsupported_parameter', path);
  });

  it('MC-06 any other spelling of the path is no endpoint', async () => {
    for (const path of [
      ...['/mcp//?x=1', '/MCP/', '//mcp/', '/MCP', '/Mcp', '//mcp', '/./mcp', '/mcp/.', '/x/../mcp', '/mcp%3F'],
      ...['/mcp%2F', '/%6dcp', '/mcp;x', '/mcp%00', '/mcpx', '/mcp/tools', '/api/v1/mcp'],
    ]) {
      for (const bearer of [token, undefined]) {
        const answer = await post(gateway.port, bearer, PING, { path });
        expect([400, 404], `${path} ${answer.status}`).toContain(answer.status);
        expect(answer.text, path).not.toContain('jsonrpc');
      }
    }
  });
});

describe('MC-07 versions', () => {
  const SERVED = ['2025-11-25', '2025-06-18', '2025-03-26'];
  const REFUSED = [
    ...['2024-11-05', '2024-10-07', '2026-07-29', '2025-11-24', '2025-11-2', '2025-11-255', '20251125'],
    ...['DRAFT-2025-v2', 'latest', 'x', '', '*', '2025-11-25;q=1', '"2025-11-25"'],
  ];
  /** Versions of MCP before 2025-06-18 have no output schemas. */
  const outputs = ({ body }: Answer): unknown[] =>
    body.result.tools.map(({ outputSchema }: { outputSchema?: object }) => outputSchema);

  it('MC-07 each version served is spoken, and without the header 2025-03-26', async () => {
    const oldest = await rpc(gateway.port, token, 'tools/list', undefined, { version: '2025-03-26' });
    expect(outputs(oldest).filter((schema) => schema !== undefined)).toEqual([]);
    const unnamed = await rpc(gateway.port, token, 'tools/list', undefined, { version: null });
    expect(unnamed.text).toBe(oldest.text);
    for (const version of ['2025-06-18', '2025-11-25']) {
      const answer = await rpc(gateway.port, token, 'tools/list', undefined, { version });
      expect(outputs(answer).length).toBeGreaterThanOrEqual(35);
      expect(outputs(answer)).not.toContain(undefined);
    }
  });

  it('MC-07 any other in the header -> 400 and -32022 under the id of the message, whatever the method', async () => {
    const expectUnserved = (answer: Answer, requested: string, id: object): void => {
      expect(answer.status, requested).toBe(400);
      expect(answer.body, requested).toEqual({
        jsonrpc: '2.0',
        ...id,
        error: { code: -32022, message: expect.any(String), data: { supported: [MODERN, ...SERVED], requested } },
      });
    };
    for (const version of REFUSED) {
      expectUnserved(await post(gateway.port, token, PING, { version }), version, { id: 1 });
      const initialize = await rpc(gateway.port, token, 'initialize', initializeParams(), { version, id: 'x' });
      expectUnserved(initialize, version, { id: 'x' });
      const notification = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
      expectUnserved(await post(gateway.port, token, notification, { version }), version, {});
      const unread = await post(gateway.port, token, '{', { version });
      expect([unread.status, Object.keys(unread.body), unread.body.error.code]).toEqual([
        400,
        ['jsonrpc', 'error'],
        -32700,
      ]);
    }
    for (const version of [
      ['2025-11-25', '2025-11-25'],
      ['2025-06-18', '2025-11-25'],
      ['x', '2025-11-25'],
      [MODERN, MODERN],
    ])
      expectUnserved(await ask({ 'mcp-protocol-version': version }), version.join(', '), { id: 1 });
  });

  it('MC-07 initialize agrees to a version served, and to any other answers 2025-11-25', async () => {
    for (const version of [...SERVED, ...REFUSED, MODERN]) {
      for (const header of [null, '2025-11-25', '2025-03-26']) {
        const options = { version: header };
        const { status, body } = await rpc(gateway.port, token, 'initialize', initializeParams(version), options);
        expect(status, version).toBe(200);
        expect(body.result.protocolVersion).toBe(SERVED.includes(version) ? version : '2025-11-25');
        expect(body.result.capabilities).toEqual(OFFERED);
        expect(Buffer.byteLength(body.result.instructions)).toBeLessThanOrEqual(2_048);
      }
    }
  });

  it('MC-07 server/discover is a method of 2026-07-28 alone', async () => {
    for (const version of [...SERVED, null])
      expect((await rpc(gateway.port, token, 'server/discover', {}, { version })).body.error.code).toBe(-32601);
  });
});
