import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, newSecret } from '../../../src/auth/tokens.ts';
import { complete } from '../../../src/surfaces/a2a/refusals.ts';
import type { Answer } from '../../support/answer.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { post, rpc, work } from '../../support/surfaces/a2a.ts';
import { describeGate, unauthorized } from '../../support/surfaces/gate.ts';
import { rpc as mcpRpc } from '../../support/surfaces/mcp.ts';
import { message } from '../../support/surfaces/rpc.ts';
import { WEB } from '../../support/surfaces/wire.ts';

let gateway: TestGateway;
let token: string;
let contact: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await gateway.issue());
  const { body } = await gateway.ask(`/api/v1/contacts?website_id=${WEB}&limit=1`, { token });
  contact = body.data.data[0].id;
});
afterAll(() => gateway.close());

const LIST = message('ListTasks');
const UNSERVED = [
  ...['CreateTaskPushNotificationConfig', 'GetTaskPushNotificationConfig', 'ListTaskPushNotificationConfigs'],
  ...['DeleteTaskPushNotificationConfig', 'GetExtendedAgentCard'],
];

const BODIES: readonly (readonly [what: string, body: string])[] = [
  ['SendMessage', message('SendMessage', work('contact_inspection', { contact_id: 'ctc_1_1_1' }))],
  ['SendMessage of no skill', message('SendMessage', work('nothing', {}))],
  ['SendMessage with bad arguments', message('SendMessage', work('contact_inspection', {}))],
  ['SendMessage without params', message('SendMessage')],
  ['GetTask', message('GetTask', { id: 'x' })],
  ['CancelTask', message('CancelTask', { id: 'x' })],
  ['ListTasks', LIST],
  ['SendStreamingMessage', message('SendStreamingMessage')],
  ['SubscribeToTask', message('SubscribeToTask', { id: 'x' })],
  ...UNSERVED.map((method) => [method, message(method)] as const),
  ['an unknown method', message('message/send')],
  ['no id', '{"jsonrpc":"2.0","method":"ListTasks"}'],
  ['a batch', `[${LIST}]`],
  ['no JSON', '{"jsonrpc":'],
  ['nothing', ''],
  ['bytes beyond the limit', LIST.padEnd(65_537)],
];

const SKILL_SCOPES = [
  ...['conversation_read', 'contact_read', 'contact_read_pii', 'visitor_notes_read', 'config_read'],
  ...['ai_features_read', 'ai_execute', 'reports_read', 'message_content_read', 'directory_read', 'live_read'],
];
const METADATA = `resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource/a2a", scope="${SKILL_SCOPES.join(' ')}"`;

const expectUnauthorized = unauthorized(METADATA);

function expectRpcError(answer: Answer, code: number, where: string, id: unknown = 1): void {
  expect(answer.status, where).toBe(200);
  expect(answer.headers['content-type'], where).toBe('application/json');
  expect(answer.body, where).toMatchObject({ jsonrpc: '2.0', id, error: { code } });
}

describeGate({
  check: 'A2-01',
  path: '/a2a',
  challenge: METADATA,
  post,
  gateway: () => gateway,
  bodies: BODIES,
  good: LIST,
  broken: [
    { headers: { accept: 'text/html' } },
    { headers: { 'content-type': 'text/plain' } },
    { headers: { 'content-encoding': 'gzip' } },
    { version: '0.3' },
    { version: null },
  ],
});

describe('OU-03 tokens are bound to one interface', () => {
  const AUDIENCES = ['rest', 'mcp', 'a2a'] as const;

  async function access(audience: string, scopes: string[], sites = ['1']): Promise<string> {
    const { credential } = await gateway.issue();
    const secret = newSecret('access_test');
    await gateway.database.sql`
      INSERT INTO gateway.token (digest, credential_id, kind, audience, scopes, sites, expires_at)
      VALUES (${digestOf(secret)}, ${credential}, 'access', ${audience}, ${scopes}, ${sites}::bigint[],
        now() + interval '10 minutes')`;
    return secret;
  }

  it('OU-03 the row of A2A: its own token only, and an installation token', async () => {
    for (const audience of AUDIENCES) {
      const secret = await access(audience, ['contact_read', 'website_read']);
      for (const [what, body] of BODIES) {
        const answer = await post(gateway.port, secret, body);
        if (audience === 'a2a') expect(answer.status, what).not.toBe(401);
        else expectUnauthorized(answer, `${audience} ${what}`, 'wrong_resource');
      }
    }
    expect((await post(gateway.port, token, LIST)).status).toBe(200);
  });

  it('OU-03 the column of A2A: its token is none on REST and MCP', async () => {
    const secret = await access('a2a', ['website_read', 'contact_read']);
    const rest = await gateway.ask('/api/v1/websites', { token: secret });
    expect([rest.status, rest.body.code]).toEqual([401, 'wrong_resource']);
    const mcp = await mcpRpc(gateway.port, secret, 'tools/call', { name: 'websites_list' });
    expect([mcp.status, mcp.body.code]).toEqual([401, 'wrong_resource']);
    // The token works on A2A. The other interfaces therefore refused the token only because of its audience.
    expect((await post(gateway.port, secret, LIST)).status).toBe(200);
  });

  it('OU-03 a token narrowed to scopes and websites runs what it holds and nothing else', async () => {
    const secret = await access('a2a', ['contact_read']);
    const inspect = (input: object): Promise<Answer> =>
      rpc(gateway.port, secret, 'SendMessage', work('contact_inspection', input));
    const { task } = (await inspect({ contact_id: contact })).body.result;
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(task.artifacts[0].parts[0].data.data.contact).toEqual({
      id: contact,
      blocked: false,
      access: { pii: false },
    });
    const other = await inspect({ contact_id: 'ctc_1_2_1' });
    expect(other.body.result.task.status.message.parts[0].data.code).toBe('not_found');
    const report = await rpc(
      gateway.port,
      secret,
      'SendMessage',
      work('support_insights', { website_id: WEB, range: 'today' }),
    );
    expect([report.status, report.body.code]).toEqual([404, 'not_permitted']);
    expect(report.body.required).toEqual({
      scopes: ['reports_read', 'conversation_read'],
      data_access: [],
      unrestricted: false,
    });
  });
});

describe('the HTTP gate', () => {
  it('A2-04 anything but POST -> 405 with Allow: POST, whoever asks', async () => {
    for (const verb of ['GET', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY']) {
      for (const bearer of [undefined, token]) {
        const answer = await post(gateway.port, bearer, undefined, { verb });
        expect(answer.status, verb).toBe(405);
        expect(answer.headers['allow']).toBe('POST');
        expect(answer.text === '').toBe(verb === 'HEAD');
      }
    }
  });

  it('one slash after the path names the same endpoint', async () => {
    for (const bearer of [token, undefined])
      for (const verb of ['POST', 'GET', 'DELETE']) {
        const told = async (path: string): Promise<unknown> => {
          const body = verb === 'POST' ? LIST : undefined;
          const { status, headers, text } = await post(gateway.port, bearer, body, { verb, path });
          return [status, headers['allow'], headers['www-authenticate'], text.replace(/req_\w+/, '')];
        };
        const bare = await told('/a2a');
        expect(bare).toContain(verb !== 'POST' ? 405 : bearer === undefined ? 401 : 200);
        expect(await told('/a2a/'), verb).toEqual(bare);
      }
    const versioned = { version: null, path: '/a2a/?A2A-Version=1.0' };
    expect((await post(gateway.port, token, LIST, versioned)).body.result).toBeDefined();
    for (const path of ['/a2a/?', '/a2a/?x=1'])
      expect((await post(gateway.port, token, LIST, { path })).body.code, path).toBe('unsupported_parameter');
  });

  it('knows no other path', async () => {
    for (const path of [
      ...['/a2a//', '/a2a/x', '/A2A/', '/A2A', '/a2a/tasks', '/%612a', '/a2a%3F', '/a2a.json', '//a2a', '/v1/a2a'],
    ])
      expect((await post(gateway.port, token, LIST, { path })).status, path).toBe(404);
  });

  it('takes JSON in UTF-8, uncompressed, and nothing else: 415', async () => {
    const type = 'application/json; charset=utf-8';
    expect((await post(gateway.port, token, LIST, { headers: { 'content-type': type } })).status).toBe(200);
    // test/surfaces/mcp/negotiation.test.ts has all forms.
    for (const headers of [
      ...[undefined, 'text/plain', 'application/a2a+json'].map((other) => ({ 'content-type': other })),
      { 'content-encoding': 'gzip' },
    ]) {
      const answer = await post(gateway.port, token, LIST, { headers });
      expect([answer.status, answer.body.code], JSON.stringify(headers)).toEqual([415, 'unsupported_media_type']);
    }
  });

  it('answers JSON, and 406 to whom that is no use', async () => {
    for (const accept of [
      ...[undefined, '*/*', 'application/*', 'application/json', 'text/html, application/json;q=0.1'],
      ...['application/json; charset=utf-8', 'text/html, application/json;charset="UTF-8";q=0.1'],
    ])
      expect((await post(gateway.port, token, LIST, { headers: { accept } })).status, accept).toBe(200);
    for (const accept of [
      ...['text/html', 'application/json;q=0', 'application/json;charset=utf-8;q=0', 'text/event-stream'],
    ]) {
      const answer = await post(gateway.port, token, LIST, { headers: { accept } });
      expect([answer.status, answer.body.code], accept).toEqual([406, 'not_acceptable']);
    }
    // A client of a stream asks for one. An error before the first event is JSON.
    for (const [method, code] of [
      ['SendStreamingMessage', -32_602],
      ['SubscribeToTask', -32_001],
    ] as const) {
      const answer = await rpc(gateway.port, token, method, { id: 'x' }, { headers: { accept: 'text/event-stream' } });
      expectRpcError(answer, code, method);
      const refused = await rpc(gateway.port, token, method, {}, { headers: { accept: 'text/html' } });
      expect([refused.status, refused.body.code], method).toEqual([406, 'not_acceptable']);
    }
  });

  it('what is no message: -32700 and -32600 with HTTP 200, never a page of HTML', async () => {
    // test/surfaces/mcp/envelope.test.ts has all forms: both endpoints read a message with one function.
    const NOT_JSON = [
      '',
      `${LIST}x`,
      LIST.replace('"id":1', '"id":1,"id":1'),
      LIST.replace('}', `,"params":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`),
      message('SendMessage').replace('}', `,"params":${'['.repeat(30_000)}${']'.repeat(30_000)}}`),
      LIST.padEnd(65_537),
      'x'.repeat(200_000),
    ];
    for (const body of NOT_JSON)
      expectRpcError(await post(gateway.port, token, body), -32_700, body.slice(0, 60), null);
    const NO_REQUEST: readonly (readonly [body: string, id?: string | number])[] = [
      [`[${LIST}]`],
      ['{}'],
      ['{"jsonrpc":"1.0","id":1,"method":"ListTasks"}', 1],
      ['{"jsonrpc":"2.0","id":null,"method":"ListTasks"}'],
      // Only A2A refuses a notification.
      ['{"jsonrpc":"2.0","method":"ListTasks"}'],
      ['{"jsonrpc":"2.0","id":"a","method":"ListTasks","params":[]}', 'a'],
      ['{"jsonrpc":"2.0","id":"a","result":{}}'],
    ];
    for (const [body, id] of NO_REQUEST)
      expectRpcError(await post(gateway.port, token, body), -32_600, body, id ?? null);
    expect((await post(gateway.port, token, LIST.padEnd(65_536))).status).toBe(200);
  });

  it('gives the id of a request back as it was sent', async () => {
    for (const id of [0, 1, -1, 2 ** 53 - 1, '', 'a', '1', '\u00fc\ud83d\ude00', '__proto__'])
      expect((await rpc(gateway.port, token, 'ListTasks', undefined, { id })).body.id).toBe(id);
  });

  it('A2-03 version 1.0 is spoken, with or without a patch number, by header or parameter', async () => {
    const ask = (version: string | null, path = '/a2a'): Promise<Answer> =>
      post(gateway.port, token, LIST, { version, path });
    for (const version of ['1.0', '1.0.0', '1.0.1', '1.0.17'])
      expect((await ask(version)).body.result, version).toBeDefined();
    expect((await ask(null, '/a2a?A2A-Version=1.0')).body.result).toBeDefined();
    expect((await ask(null, '/a2a?A2A-Version=1.0.1')).body.result).toBeDefined();
    const REFUSED = [null, '', '0.3', '0.3.0', '0.2.5', '1', '1.', '1.0.', '1.1', '2.0', '10.0', '01.0', '1.00', 'x'];
    for (const version of [...REFUSED, '1.0, 1.0', '1.0.x', 'v1.0', '1.0-rc', '1.0.1.1', ' 2.0', '1,0']) {
      for (const [what, body] of version === '0.3' ? BODIES.slice(0, 8) : BODIES.slice(0, 1)) {
        const answer = await post(gateway.port, token, body, { version });
        expectRpcError(answer, -32_009, `${version} ${what}`);
        expect(answer.body.error.data).toEqual([
          {
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: 'VERSION_NOT_SUPPORTED',
            domain: 'a2a-protocol.org',
            metadata: {},
          },
        ]);
      }
    }
    for (const path of ['/a2a?A2A-Version=0.3', '/a2a?A2A-Version=', '/a2a?A2A-Version=1.0%00'])
      expectRpcError(await ask(null, path), -32_009, path);
    // The body is not a JSON-RPC message, and the version is wrong. The gateway reports only the error of the body.
    expectRpcError(await post(gateway.port, token, '[]', { version: '0.3' }), -32_600, 'a batch', null);
  });

  it('A2-03 takes no other parameter, and no version twice', async () => {
    const refused: readonly (readonly [path: string, version: string | null, code: string])[] = [
      ['/a2a?', '1.0', 'unsupported_parameter'],
      ['/a2a?x=1', '1.0', 'unsupported_parameter'],
      ['/a2a?a2a-version=1.0', null, 'unsupported_parameter'],
      ['/a2a?A2A-Version=1.0&access_token=x', null, 'unsupported_parameter'],
      ['/a2a?A2A-Version=1.0', '1.0', 'duplicate_parameter'],
      ['/a2a?A2A-Version=1.0&A2A-Version=1.0', null, 'duplicate_parameter'],
    ];
    for (const [path, version, code] of refused) {
      const answer = await post(gateway.port, token, LIST, { path, version });
      expect([answer.status, answer.body.code], path).toEqual([400, code]);
      const parameter = /access_token|a2a-version|x=/.exec(path)?.[0].replace('=', '') ?? '?';
      const expected = 'only the name A2A-Version';
      if (code === 'unsupported_parameter') expect(answer.body.errors, path).toEqual([{ parameter, code, expected }]);
    }
  });

  it('A2-04 unknown methods are -32601, of the older protocol too', async () => {
    for (const method of ['x', 'message/send', 'tasks/get', 'sendMessage', 'SendMessage ', 'constructor', 'toString'])
      for (const params of [undefined, {}, work('contact_inspection', { contact_id: contact })])
        expectRpcError(await rpc(gateway.port, token, method, params), -32_601, method);
  });

  it('A2-04 push notifications and the extended card are refused by their own codes, whatever their params', async () => {
    const CODES = [-32_003, -32_003, -32_003, -32_003, -32_004];
    for (const [i, method] of UNSERVED.entries()) {
      for (const params of [undefined, {}, { id: 5 }, work('contact_inspection', { contact_id: contact })]) {
        const answer = await rpc(gateway.port, token, method, params);
        expectRpcError(answer, CODES[i] ?? 0, method);
        expect(answer.headers['content-type']).toBe('application/json');
      }
    }
  });

  it.each([-32_603, -32_000, -32_010, 0])(
    'an error of the SDK with code %i is no answer but a defect of ours',
    (code) => {
      expect(() => complete({ code, message: 'secret' })).toThrow(`the SDK answered ${code}`);
      for (const known of [-32_700, -32_602, -32_001, -32_009])
        expect(complete({ code: known, message: 'x' }).code).toBe(known);
    },
  );

  it('a store that fails is HTTP 500 with a code, never -32603 and never its own words', async () => {
    const other = await openTestGateway();
    const { token: own } = await other.issue();
    await other.database.sql.unsafe('ALTER TABLE gateway.task RENAME TO away');
    const requests: readonly (readonly [method: string, params: object])[] = [
      ['SendMessage', work('contact_inspection', { contact_id: contact })],
      ['GetTask', { id: 'x' }],
      ['CancelTask', { id: 'x' }],
      ['ListTasks', {}],
    ];
    for (const [method, params] of requests) {
      const body = { jsonrpc: '2.0', id: 1, method, params };
      const headers = { 'a2a-version': '1.0' };
      const answer = await other.ask('/a2a', { token: own, body, headers, unchecked: true });
      expect(answer.status, method).toBe(500);
      expect(answer.headers['content-type']).toBe('application/problem+json');
      expect(answer.body.code).toBe('internal');
      expect(answer.text).not.toMatch(/relation|gateway\.|task_|\bat .*:\d+/);
    }
    await other.database.sql.unsafe('ALTER TABLE gateway.away RENAME TO task');
    // The gateway also looks for tasks in the background. Such a look-up can fail while the table has another name.
    // Remove the lines of these failures from the log.
    for (const [i, line] of other.log.entries())
      if (/^DEFECT tasks .*("gateway\.task"|a batch of tasks failed)/.test(line)) other.log[i] = '';
    await other.close();
  });
});
