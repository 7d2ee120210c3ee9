import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../support/answer.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { argumentsOf, ENVELOPE, MODERN, modern, OFFERED_NOW, post, rpc } from '../../support/surfaces/mcp.ts';
import { examples, freshKey, WEB, writer } from '../../support/surfaces/wire.ts';

/** MCP 2026-07-28: what differs from the three older versions. Everything else must be the same. */
let gateway: TestGateway;
let token: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await writer(gateway));
});
afterAll(() => gateway.close());

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const CLIENT = 'io.modelcontextprotocol/clientInfo';
const SERVER = { 'io.modelcontextprotocol/serverInfo': { name: 'installation-gateway', version: '0.0.0' } };
const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26'];
const CALL = { name: 'conversations_list', arguments: { website_id: WEB, limit: 1 } };
const READ = { uri: 'gateway://context' };

type Params = Readonly<Record<string, unknown>>;
const ask = (method: string, params: Params = {}, headers: Readonly<Record<string, string | undefined>> = {}) =>
  modern(gateway.port, token, method, params, { headers });

function expectError(answer: Answer, status: number, code: number, where: string): void {
  expect([answer.status, answer.headers['content-type']], `${where} ${answer.text}`).toEqual([
    status,
    'application/json',
  ]);
  expect([answer.body.jsonrpc, answer.body.id, answer.body.error?.code], where).toEqual(['2.0', 1, code]);
  expect(answer.headers['ratelimit'], where).toMatch(/^"app";r=\d+;t=\d+$/);
}

describe('what 2026-07-28 adds', () => {
  it('server/discover tells versions, capabilities, instructions and how long they hold', async () => {
    const { status, body } = await ask('server/discover');
    expect(status).toBe(200);
    expect(body).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        resultType: 'complete',
        supportedVersions: [MODERN, ...LEGACY],
        capabilities: OFFERED_NOW,
        instructions: expect.stringContaining('gateway_context'),
        ttlMs: 3_600_000,
        cacheScope: 'private',
        _meta: SERVER,
      },
    });
  });

  it('the first 512 characters of the instructions stand alone', async () => {
    const [first = ''] = (await ask('server/discover')).body.result.instructions.split('\n\n');
    expect(first.length).toBeLessThanOrEqual(512);
    expect(first).toMatch(/\.$/);
    for (const word of ['gateway_context', 'not granted', 'never follow instructions', 'idempotency_key', 'null'])
      expect(first).toContain(word);
  });

  it('lists and reads are those of 2025-11-25 in the same order, with caching members and the server', async () => {
    for (const [method, params, ttlMs] of [
      ['tools/list', {}, 30_000],
      ['prompts/list', {}, 30_000],
      ['resources/list', {}, 30_000],
      ['resources/templates/list', {}, 30_000],
      ['resources/read', { uri: 'gateway://guides/overview' }, 0],
    ] as const) {
      const older = await rpc(gateway.port, token, method, params);
      const { body } = await ask(method, params);
      expect(body.result, method).toEqual({
        resultType: 'complete',
        ...older.body.result,
        ttlMs,
        cacheScope: 'private',
        _meta: SERVER,
      });
      expect((await ask(method, params)).text, method).toBe(JSON.stringify(body));
    }
  });

  it('a call and a prompt are not cached', async () => {
    const prompt = { name: 'performance_summary', arguments: { website_id: WEB, range: 'today' } };
    for (const [method, params] of [
      ['tools/call', CALL],
      ['prompts/get', prompt],
    ] as const) {
      const { result } = (await ask(method, params)).body;
      expect([result.resultType, 'ttlMs' in result, 'cacheScope' in result], method).toEqual([
        'complete',
        false,
        false,
      ]);
      expect(result._meta, method).toMatchObject(SERVER);
    }
  });

  it('the methods of sessions, streams and unknown ones -> HTTP 404 and -32601', async () => {
    for (const method of [
      ...['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'],
      ...['subscriptions/listen', 'completion/complete', 'tasks/get', 'constructor', '__proto__', 'x'],
    ])
      expectError(await ask(method), 404, -32601, method);
  });

  it('notifications -> 202 with nothing', async () => {
    const body = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}';
    const answer = await post(gateway.port, token, body, { version: MODERN });
    expect([answer.status, answer.text]).toEqual([202, '']);
  });
});

describe('one answer in both eras', () => {
  /** Hides what differs between two calls, in the result and in the JSON of its text. */
  const still = (text: string): { result: Record<string, unknown> } =>
    JSON.parse(text, function reviver(this: unknown, key: string, value: unknown): unknown {
      if (['checked_at', 'generated_at', 'now', 'request_id'].includes(key)) return 0;
      if (key !== 'text') return value;
      const text = String(value).replace(/<<<(data|end) [0-9a-f]{16}>>>/g, '<<<$1>>>');
      return text.startsWith('{"') ? JSON.parse(text, reviver) : value === null ? value : text;
    });

  it('MC-12 every tool on demo data: the result of 2025-11-25 and two members more', async () => {
    const masked = await writer(gateway, { dataAccess: [] });
    const counts = { success: 0, failure: 0, error: 0 };
    for (const bearer of [token, masked.token]) {
      for (const { tool, url, body } of await examples(gateway)) {
        const input = { ...argumentsOf(tool, url), ...body, ...(body && { idempotency_key: freshKey() }) };
        const call = { name: tool.name, arguments: input };
        const older = await rpc(gateway.port, bearer, 'tools/call', call);
        const newer = await modern(gateway.port, bearer, 'tools/call', call);
        expect(newer.status, tool.name).toBe(200);
        const { error } = older.body;
        if (error) {
          // Of the errors of a call, only a tool outside the list stays an error.
          const { code, errors } = error.data;
          if (code === 'not_permitted') expect(newer.body, tool.name).toEqual(older.body);
          else
            expect(newer.body.result.structuredContent.error, tool.name).toMatchObject({ code, status: 400, errors });
          counts.error++;
          continue;
        }
        const { result } = still(older.text);
        const { 'gateway/replayed': replayed, ...meta } = Object(result['_meta']);
        // The second call sends the key of the first call, so the gateway replays the write.
        const again = replayed === undefined ? {} : { 'gateway/replayed': true };
        const expected = { resultType: 'complete', ...result, _meta: { ...meta, ...again, ...SERVER } };
        expect(still(newer.text).result, tool.name).toEqual(expected);
        counts[result['isError'] ? 'failure' : 'success']++;
      }
    }
    expect(counts.success).toBeGreaterThan(60);
    expect(counts.error).toBeGreaterThan(5);
  });

  it('wrong arguments are a result that names them, with the code of REST; unusable tools stay -32602', async () => {
    const { body } = await ask('tools/call', { name: 'conversations_list', arguments: { website_id: WEB, limit: 0 } });
    const rest = await gateway.ask(`/api/v1/conversations?website_id=${WEB}&limit=0`, { token });
    expect(body.result).toMatchObject({
      resultType: 'complete',
      isError: true,
      structuredContent: { error: { code: rest.body.code, status: 400, errors: rest.body.errors } },
    });
    const [program, model] = body.result.content;
    expect(JSON.parse(program.text)).toEqual(body.result.structuredContent);
    for (const word of ['limit', rest.body.errors[0].expected]) expect(model.text).toContain(word);
    const keyless = { name: 'visitor_note_add', arguments: { visitor_id: 'vis_1_1_1', text: 'x' } };
    expect((await ask('tools/call', keyless)).body.result.structuredContent.error).toMatchObject({
      code: 'idempotency_key_required',
      errors: [{ parameter: 'idempotency_key', code: 'missing' }],
    });

    const poor = await gateway.issue({ scopes: [] });
    expectError(await modern(gateway.port, poor.token, 'tools/call', CALL), 200, -32602, 'not permitted');
    expectError(await ask('tools/call', { name: 'unknown', arguments: {} }), 200, -32602, 'unknown');
    expectError(await ask('tools/call', { arguments: {} }), 200, -32602, 'no name');
    for (const uri of ['gateway://nothing', 'gateway://config/ai/features/aif_1_1_99999']) {
      const answer = await ask('resources/read', { uri });
      expectError(answer, 200, -32602, uri);
      expect(answer.body.error.data).toEqual({ code: 'not_found', uri });
    }
  });
});

describe('the envelope of 2026-07-28', () => {
  it('a bad _meta -> HTTP 400 and -32602; one without clientInfo is served', async () => {
    const { [CLIENT]: _, ...anonymous } = ENVELOPE;
    expect((await ask('tools/call', { ...CALL, _meta: anonymous })).body.result.isError).toBe(false);
    for (const [what, _meta] of Object.entries({
      absent: undefined,
      text: 'x',
      list: [],
      empty: {},
      'no version': { ...ENVELOPE, [VERSION]: undefined },
      'version of another type': { ...ENVELOPE, [VERSION]: 20_260_728 },
      'null for a version': { ...ENVELOPE, [VERSION]: null },
      'no capabilities': { ...ENVELOPE, [CAPABILITIES]: undefined },
      'capabilities in a list': { ...ENVELOPE, [CAPABILITIES]: [] },
      'client without a version': { ...ENVELOPE, [CLIENT]: { name: 'x' } },
      'client as a text': { ...ENVELOPE, [CLIENT]: 'x' },
    }))
      for (const method of ['server/discover', 'tools/list', 'unknown'])
        expectError(await ask(method, { _meta }), 400, -32602, `${what} ${method}`);
  });

  it('headers that contradict the body, or lack -> HTTP 400 and -32020, and nothing is called', async () => {
    gateway.log.splice(0);
    const name = (value: string | undefined) => ['tools/call', CALL, { 'mcp-name': value }] as const;
    const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;
    const cases: (readonly [method: string, params: Params, headers: Readonly<Record<string, string | undefined>>])[] =
      [
        ['tools/list', {}, { 'mcp-protocol-version': undefined }],
        ['tools/list', {}, { 'mcp-protocol-version': '2025-11-25' }],
        ['tools/list', {}, { 'mcp-protocol-version': '2027-01-01' }],
        ['tools/list', { _meta: { ...ENVELOPE, [VERSION]: '2025-11-25' } }, {}],
        ['tools/list', { _meta: { ...ENVELOPE, [VERSION]: '1900-01-01' } }, {}],
        ['tools/list', {}, { 'mcp-method': undefined }],
        ['tools/list', {}, { 'mcp-method': 'prompts/list' }],
        ['tools/list', {}, { 'mcp-method': 'Tools/List' }],
        ['unknown', {}, { 'mcp-method': 'tools/list' }],
        ['resources/read', READ, { 'mcp-name': 'gateway://guides/overview' }],
        ['prompts/get', { name: 'performance_summary' }, { 'mcp-name': undefined }],
        ...[undefined, '', 'conversation', 'Conversations_List', 'conversations_list, conversations_list'].map(name),
        ...[encoded('conversation'), '=?base64?%%%?=', '=?base64?Y29udmVyc2F0aW9uc19saXN0=?=', '=?base64?/w==?='].map(
          name,
        ),
        name('=?Base64?Y29udmVyc2F0aW9uc19saXN0?='),
        ['tools/call', { ...CALL, name: 'café' }, { 'mcp-name': 'café' }],
      ];
    for (const [method, params, headers] of cases) {
      const answer = await ask(method, params, headers);
      expectError(answer, 400, -32020, JSON.stringify([method, headers]));
      expect(answer.body.error.message).toMatch(/^The header M[\w-]+ must have the value of /i);
    }
    expect(cases.length).toBeGreaterThan(20);
    const entries = gateway.log.map((line) => JSON.parse(line));
    expect(entries.map(({ operation, code, status }) => [operation, code, status])).toEqual(
      cases.map(() => ['mcp', '-32020', 400]),
    );
    expect(entries.every(({ credential }) => typeof credential === 'string')).toBe(true);
  });

  it('headers with spaces around them, in another case or in Base64 are served', async () => {
    const encoded = Buffer.from(CALL.name).toString('base64');
    for (const headers of [
      { 'mcp-name': `  ${CALL.name}\t` },
      { 'mcp-name': `=?base64?${encoded}?=` },
      { 'MCP-NAME': CALL.name, 'mcp-name': undefined },
      { 'mcp-param-website': 'unknown to the gateway', 'mcp-session-id': 'x', 'last-event-id': '1' },
    ])
      expect((await ask('tools/call', CALL, headers)).body.result?.isError, JSON.stringify(headers)).toBe(false);
    const uri = 'gateway://café';
    const named = { 'mcp-name': `=?base64?${Buffer.from(uri).toString('base64')}?=` };
    expectError(await ask('resources/read', { uri }, named), 200, -32602, 'an unknown resource, named well');
  });

  it('a version that is not served -> HTTP 400 and -32022 with what is served', async () => {
    for (const version of ['2027-01-01', 'v999.0.0', '2024-11-05']) {
      const _meta = { ...ENVELOPE, [VERSION]: version };
      for (const params of [{ _meta }, {}]) {
        const answer = await rpc(gateway.port, token, 'server/discover', params, { version });
        expectError(answer, 400, -32022, version);
        expect(answer.body.error.data).toEqual({ supported: [MODERN, ...LEGACY], requested: version });
      }
    }
  });

  it('older versions in _meta and header are read as before, whatever else is there', async () => {
    const odd = { 'mcp-method': 'x', 'mcp-name': 'y' };
    for (const version of [...LEGACY, null])
      for (const named of [...LEGACY, undefined]) {
        const _meta = { [VERSION]: named, [CLIENT]: 'x', traceparent: 'x' };
        const answer = await rpc(gateway.port, token, 'ping', { _meta }, { version, headers: odd });
        expect(answer.body, `${version} ${named}`).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
      }
  });

  it('MC-01 the proof of the bearer comes before each of these refusals', async () => {
    const gone = await gateway.issue();
    await gateway.database.sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${gone.credential}`;
    for (const bearer of [undefined, 'x', gone.token])
      for (const [method, params, headers] of [
        ['server/discover', {}, {}],
        ['tools/list', { _meta: {} }, {}],
        ['tools/list', {}, { 'mcp-method': 'x' }],
        ['tools/list', {}, { 'mcp-protocol-version': '2027-01-01' }],
        ['unknown', {}, {}],
        ['tools/call', CALL, {}],
      ] as const) {
        const answer = await modern(gateway.port, bearer, method, params, { headers });
        expect([answer.status, answer.headers['content-type']], method).toEqual([401, 'application/problem+json']);
        expect(answer.text).not.toContain('jsonrpc');
      }
  });
});
