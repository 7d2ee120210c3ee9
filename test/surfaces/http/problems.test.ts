import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAILURE_CODES, Failure, type FailureCode, statusOf, titleOf } from '../../../src/core/failures.ts';
import { SCOPES, type Scope } from '../../../src/core/scopes.ts';
import { problem } from '../../../src/surfaces/http/reply.ts';
import type { Answer } from '../../support/answer.ts';
import { type AskOptions, BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import {
  bytesOf,
  type Example,
  examples,
  parse,
  raw,
  requestOf,
  urlOf,
  WEB,
  withQuery,
  writer,
} from '../../support/surfaces/wire.ts';

let gateway: TestGateway;
let token: string;
let calls: Example[];

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await writer(gateway));
  calls = await examples(gateway);
});
afterAll(() => gateway.close());

const KNOWN: ReadonlySet<string> = new Set<string>(FAILURE_CODES);
const MEMBERS = ['type', 'title', 'status', 'code', 'request_id', 'detail', 'errors', 'retry_after', 'required'];

function expectProblem(answer: Answer, code: FailureCode, where = ''): void {
  expect(answer.headers['content-type'], where).toBe('application/problem+json');
  expect(answer.body, where).toMatchObject({
    type: `${BASE_URL}/problems/${code}`,
    title: titleOf(code),
    status: answer.status,
    code,
    request_id: answer.headers['x-request-id'],
  });
  expect(answer.status, where).toBe(statusOf(code));
  expect(Object.keys(answer.body).filter((key) => !MEMBERS.includes(key))).toEqual([]);
}

const codeOf = async (...args: Parameters<TestGateway['ask']>): Promise<string> => {
  const answer = await gateway.ask(...args);
  if (answer.status >= 400) {
    expect(KNOWN.has(answer.body.code)).toBe(true);
    expectProblem(answer, answer.body.code, args[0]);
  }
  return answer.status < 400 ? String(answer.status) : answer.body.code;
};

describe('PD-01 problem details', () => {
  it('PD-01 every code of the table renders with its own status, type and title', () => {
    expect(FAILURE_CODES.length).toBeGreaterThan(40);
    const waits: Readonly<Record<string, number>> = { approval_limit: 60, native_unavailable: 5 };
    for (const code of FAILURE_CODES) {
      const body = problem(new Failure(code), { baseUrl: BASE_URL, requestId: 'req_x' });
      const members = ['type', 'title', 'status', 'code', 'request_id', ...(code in waits ? ['retry_after'] : [])];
      expect(Object.keys(body)).toEqual(members);
      expect(body['retry_after'], code).toBe(waits[code]);
      expect(body).toMatchObject({ type: `${BASE_URL}/problems/${code}`, status: statusOf(code), code });
      expect(new URL(String(body['type'])).href).toBe(body['type']);
      expect(titleOf(code)).toMatch(/^[A-Z].{10,120}\.$/);
    }
  });

  it('PD-01 request ids are distinct and never taken from the caller', async () => {
    const ids = new Set<unknown>();
    for (let i = 0; i < 50; i++) {
      const { headers } = await gateway.ask('/nothing', { headers: { 'x-request-id': `req_${'0'.repeat(32)}` } });
      ids.add(headers['x-request-id']);
    }
    expect(ids.size).toBe(50);
    expect(ids.has(`req_${'0'.repeat(32)}`)).toBe(false);
  });
});

const masked = ({ status, headers, text }: Answer): unknown => {
  const { date: _, 'x-request-id': id, ratelimit: __, ...rest } = headers;
  return { status, headers: rest, text: text.replaceAll(String(id), 'req') };
};

describe('PD-02 absent or not visible', () => {
  const KINDS: [prefix: string, table: string, path: (id: string) => string][] = [
    ['cnv', 'conversation', (id) => `/api/v1/conversations/${id}`],
    ['cnv', 'conversation', (id) => `/api/v1/conversations/${id}/messages`],
    ['cnv', 'conversation', (id) => `/api/v1/conversations/${id}/contacts`],
    ['vis', 'visitor', (id) => `/api/v1/dashboard/visitors/${id}`],
    ['vis', 'visitor', (id) => `/api/v1/dashboard/visitors/${id}/conversations`],
    ['vis', 'visitor', (id) => `/api/v1/visitors/${id}/notes`],
    ['ctc', 'contact', (id) => `/api/v1/contacts/${id}`],
    ['ctc', 'contact', (id) => `/api/v1/contacts/${id}/notes`],
    ['ctc', 'contact', (id) => `/api/v1/contacts/${id}/visitors`],
    ['fil', 'file', (id) => `/api/v1/files/${id}`],
    ['fil', 'file', (id) => `/api/v1/files/${id}/content`],
    ['aif', 'ai_feature', (id) => `/api/v1/ai/features/${id}`],
  ];

  it.each(KINDS)(
    'PD-02 %s of %s %#: a missing one, another website’s and a foreign one look the same',
    async (...kind) => {
      const [prefix, table, path] = kind;
      const narrow = await gateway.issue({ websites: [WEB] });
      await gateway.ask('/api/v1/websites', { token: narrow.token });
      const [row] = await gateway.database.sql<{ id: string }[]>`
      SELECT min(id) AS id FROM platform.${gateway.database.sql(table)} WHERE tenant = 1 AND site = 2`;
      expect(row?.id).toBeTruthy();
      const mine = await gateway.ask(path(`${prefix}_1_2_${row?.id}`), { token });
      expect(mine.status, mine.text).toBe(200);
      const ids = [`1_2_${row?.id}`, '1_1_9223372036854775807', '1_1_9999999999999999999', '1_77_1', '9_1_1', '0_1_1'];
      const answers = await Promise.all(ids.map((id) => gateway.ask(path(`${prefix}_${id}`), { token: narrow.token })));
      for (const [i, answer] of answers.entries()) {
        expectProblem(answer, 'not_found', ids[i]);
        expect(masked(answer), ids[i]).toEqual(masked(answers[1] ?? answer));
      }
    },
  );

  it('PD-02 a website that is not granted and one that does not exist', async () => {
    const { token: narrow } = await gateway.issue({ websites: [WEB] });
    await gateway.ask('/api/v1/websites', { token: narrow });
    for (const call of calls.filter(({ query }) => query.some(([name]) => name === 'website_id'))) {
      const { tool, path, query } = call;
      const answers = await Promise.all(
        ['web_1_2', 'web_1_99', 'web_9_1', 'web_1_9223372036854775808'].map((id) =>
          gateway.ask(
            urlOf(path, [['website_id', id], ...query.filter(([name]) => name !== 'website_id')]),
            requestOf(call, { token: narrow }),
          ),
        ),
      );
      for (const answer of answers) {
        expectProblem(answer, 'not_found', tool.name);
        expect(masked(answer), tool.name).toEqual(masked(answers[0] ?? answer));
      }
    }
  });

  it('PD-02 a restricted credential: what is outside is as absent as what never was', async () => {
    const [row] = await gateway.database.sql<{ id: string }[]>`
      SELECT min(id) AS id FROM platform.conversation WHERE tenant = 1 AND site = 1 AND channel_id IS NOT NULL`;
    const { token: none } = await gateway.issue({ channels: [] });
    for (const path of ['', '/messages', '/contacts']) {
      const hidden = await gateway.ask(`/api/v1/conversations/cnv_1_1_${row?.id}${path}`, { token: none });
      const absent = await gateway.ask(`/api/v1/conversations/cnv_1_1_9223372036854775807${path}`, { token: none });
      expectProblem(hidden, 'not_found');
      expect(masked(hidden)).toEqual(masked(absent));
    }
  });

  it('PD-02 no latency tells them apart', async () => {
    const { token: none } = await gateway.issue({ channels: [] });
    const [row] = await gateway.database.sql<{ id: string }[]>`
      SELECT min(id) AS id FROM platform.conversation WHERE tenant = 1 AND site = 1`;
    const times: [hidden: number[], absent: number[]] = [[], []];
    for (let i = 0; i < 300; i++) {
      const which = i % 2 === 0 ? 0 : 1;
      const id = which === 0 ? row?.id : '9223372036854775807';
      const began = performance.now();
      await gateway.ask(`/api/v1/conversations/cnv_1_1_${id}`, { token: none });
      times[which].push(performance.now() - began);
    }
    const [hidden = 0, absent = 0] = times.map((list) => list.sort((a, b) => a - b)[list.length >> 1]);
    expect(Math.abs(hidden - absent)).toBeLessThan(Math.max(hidden, absent) * 0.5);
  });
});

describe('PD-03 nothing sent comes back', () => {
  const MARK = 'zqx7canary';
  const NASTY = [
    MARK,
    `<script>${MARK}</script>`,
    `${MARK}'"--`,
    `${MARK}@example.com`,
    `\u202e${MARK}`,
    `${MARK}\r\nX: y`,
  ];

  it('PD-03 no value of any parameter, header, path or token is in an error', async () => {
    let errors = 0;
    for (const call of calls) {
      const { tool, path, query } = call;
      const names = tool.parameters.filter((one) => one.in === 'query').map(({ name }) => name);
      const sending = (given: readonly string[], value: string): string => {
        const rest = query.filter(([name]) => !given.includes(name)).map(([name, other]) => `${name}=${other}`);
        return `${path}?${[...given.map((name) => `${name}=${value}`), ...rest].join('&')}`;
      };
      const urls = [
        // One text is sent in each parameter alone. The others are sent in all parameters at once.
        ...[...names, 'unknown'].map((name) => sending([name], MARK)),
        ...NASTY.map(encodeURIComponent).flatMap((value) => [
          sending([...names, 'unknown'], value),
          `${path}/${value}`,
          `${path.slice(0, path.lastIndexOf('/'))}/${value}`,
        ]),
      ];
      for (const url of urls) {
        const answer = await gateway.ask(url, requestOf(call, { token }));
        if (answer.status < 400) continue;
        errors++;
        expect(answer.text.includes(MARK), `${tool.name} ${url} ${answer.text}`).toBe(false);
        expect(JSON.stringify(answer.headers).includes(MARK)).toBe(false);
        expect(answer.headers['x-content-type-options']).toBe('nosniff');
      }
    }
    expect(errors).toBeGreaterThan(500);
    let refused = 0;
    for (const call of calls.filter((one) => one.body)) {
      for (const text of NASTY) {
        // Put the text in each place of a request: as a member's value, as a member's name, inside a wrong idempotency
        // key, and as the whole key.
        const bodies = [
          ...Object.keys(call.body ?? {}).map((name) => ({ ...call.body, [name]: [text] })),
          // The text MARK looks like an ordinary member name, and an answer may repeat such a name. Therefore do not
          // send MARK as a name.
          ...(text === MARK ? [] : [{ ...call.body, [text]: text }]),
          { ...call.body, context: { type: 'text', text: `${text}\0`, [`${text} `]: 1 } },
        ];
        for (const body of bodies) {
          const answer = await gateway.ask(call.url, requestOf({ body }, { token }));
          expect(answer.status, `${call.tool.name} ${JSON.stringify(body)}`).toBe(400);
          expect(answer.text.includes(MARK), `${call.tool.name} ${answer.text}`).toBe(false);
          refused++;
        }
        const key = `${text} `.replaceAll(/[^ -~]/g, ' ');
        const answer = await gateway.ask(
          call.url,
          requestOf(call, { token, headers: { 'idempotency-key': `a ${key}b` } }),
        );
        expect(answer.body.code, call.tool.name).toBe('invalid_idempotency_key');
        expect(answer.text.includes(MARK)).toBe(false);
      }
    }
    expect(refused).toBeGreaterThan(80);
    for (const headers of [
      { authorization: `Bearer ${MARK}` },
      { authorization: `Basic ${MARK}` },
      { accept: `${MARK}/x` },
      { origin: `https://${MARK}` },
      { host: MARK },
      { 'x-forwarded-host': MARK },
    ]) {
      const answer = await gateway.ask('/api/v1/websites', { token, headers });
      expect(answer.text.includes(MARK), JSON.stringify(headers)).toBe(false);
      expect(JSON.stringify(answer.headers).includes(MARK)).toBe(false);
    }
  });

  it('PD-03 an unknown parameter is named only where its name looks like one', async () => {
    const named = async (name: string) =>
      (await gateway.ask(`/api/v1/websites?${name}=1`, { token })).body.errors[0].parameter;
    expect(await named('colour')).toBe('colour');
    for (const name of ['%3Cscript%3E', 'a%0d%0ab', 'a@example.com', '%E2%80%AE', 'x'.repeat(65), '', '%ZZ'])
      expect(await named(name), name).toBe('(unprintable)');
  });
});

describe('PD-04 headers that go with a status', () => {
  it('PD-04 401: each reason has its code', async () => {
    const expired = await gateway.issue({ expires: '-1 second' });
    expect(await codeOf('/api/v1/websites', { token: expired.token })).toBe('token_expired');
    const revoked = await gateway.issue();
    expect(await codeOf('/api/v1/websites', { token: revoked.token })).toBe('200');
    await gateway.database.sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${revoked.credential}`;
    expect(await codeOf('/api/v1/websites', { token: revoked.token })).toBe('token_revoked');
    for (const authorization of [
      ...['Bearer', 'Bearer ', `Basic ${token}`, token, `Bearer ${token} x`, `Bearer ${token},x`, `Bearer\t${token}`],
    ])
      expect(await codeOf('/api/v1/websites', { headers: { authorization } }), authorization).toBe('unauthenticated');
    for (const authorization of [`bearer ${token}`, `BEARER ${token}`])
      expect(await codeOf('/api/v1/websites', { headers: { authorization } })).toBe('200');
  });

  it('PD-04 429: Retry-After is a whole number of at least 1 and enough', async () => {
    const { token: small } = await gateway.issue({ perMinute: 60, burst: 2 });
    const codes: Answer[] = [];
    for (let i = 0; i < 4; i++) codes.push(await gateway.ask('/api/v1/websites', { token: small }));
    const refused = codes.find(({ status }) => status === 429);
    expect(refused).toBeDefined();
    if (!refused) return;
    expectProblem(refused, 'quota_exceeded');
    expect(refused.headers['retry-after']).toMatch(/^[1-9][0-9]*$/);
    expect(refused.body.retry_after).toBe(Number(refused.headers['retry-after']));
    expect(refused.headers['ratelimit']).toMatch(/^"app";r=0;t=[0-9]+$/);
    expect(refused.headers['ratelimit-policy']).toBe('"app";q=60;w=60');
    await new Promise((resolve) => setTimeout(resolve, refused.body.retry_after * 1_000));
    expect((await gateway.ask('/api/v1/websites', { token: small })).status).toBe(200);
  });
});

describe('precedence of failures', () => {
  it('every operation: path, method, HTTP, token, permission, parameters, website, quota', async () => {
    const bare = await gateway.issue({ scopes: [], dataAccess: [] });
    for (const call of calls) {
      const { tool, path, url, query } = call;
      const twice = { range: 'bytes=0-1', 'if-match': ['"0123456789abcdef"', '"x"'] };
      const bad = withQuery(url, 'unknown=1');
      const wrong = tool.name === 'visitor_notes' || tool.name === 'visitor_note_add' ? 'DELETE' : 'PUT';
      // At first, everything in the request is wrong. The test then corrects one fault after another, and each answer
      // must name the next fault.
      expect(await codeOf(`${path}/x/y/z?unknown=1`, { method: wrong, headers: twice }), tool.name).toBe('not_found');
      expect(await codeOf(bad, { method: wrong, headers: twice }), tool.name).toBe('method_not_allowed');
      const doubled = ['Range: bytes=0-1', 'Range: bytes=0-1', 'Accept: text/html', 'Connection: close'];
      const { text } = await raw(gateway.port, bytesOf({ ...call, url: bad }, ...doubled));
      expect(JSON.parse(parse(text).body).code, tool.name).toBe('duplicate_parameter');
      const send = (options: AskOptions, at = bad) => codeOf(at, requestOf(call, options));
      expect(await send({ headers: { accept: 'text/html' } }), tool.name).toBe('not_acceptable');
      if (call.body) {
        // Without a token, the gateway does not wait for the body. The caller therefore does not learn that the body is
        // wrong.
        expect(await send({ body: undefined, raw: '{', headers: { 'content-type': 'text/plain' } })).toBe(
          'unauthenticated',
        );
        const sent = { body: undefined, raw: '{', method: 'POST' };
        for (const [bearer, type, code] of [
          ['igw_live_x', 'text/plain', 'unauthenticated'],
          [bare.token, 'text/plain', 'unsupported_media_type'],
          [bare.token, 'application/json', 'invalid_json'],
        ] as const)
          expect(await send({ ...sent, token: bearer, headers: { 'content-type': type } }), tool.name).toBe(code);
      }
      // PD-04: the Bearer challenge has an error only where the scheme Bearer was sent.
      for (const [sent, error] of [
        [{}, ''],
        [{ token: 'igw_live_x' }, 'error="invalid_token", '],
      ] as const) {
        const stranger = await gateway.ask(bad, requestOf(call, sent));
        expectProblem(stranger, 'unauthenticated', tool.name);
        const metadata = `resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource", scope="${SCOPES.join(' ')}"`;
        expect(stranger.headers['www-authenticate'], tool.name).toBe(`Bearer ${error}${metadata}`);
      }
      const { scopes, dataAccess } = tool.required;
      const denied = await gateway.ask(bad, requestOf(call, { token: bare.token }));
      expectProblem(denied, scopes.length > 0 ? 'not_permitted' : 'unsupported_parameter', tool.name);
      if (scopes.length > 0) {
        const { required } = denied.body;
        const needs = { scopes: [...scopes].sort(), data_access: [...dataAccess].sort(), unrestricted: false };
        const told = { ...required, scopes: required.scopes.toSorted(), data_access: required.data_access.toSorted() };
        expect(told, tool.name).toEqual(needs);
      }
      expect(await send({ token }), tool.name).toBe('unsupported_parameter');
      const keyless = { token, headers: { 'idempotency-key': ' ' } };
      if (call.body) expect(await send(keyless), tool.name).toBe('unsupported_parameter');
      if (query.some(([name]) => name === 'website_id')) {
        const elsewhere: [string, string][] = query.map(([name, value]) => [
          name,
          name === 'website_id' ? 'web_9_9' : value,
        ]);
        expect(await send({ token }, withQuery(urlOf(path, elsewhere), 'x=1'))).toBe('unsupported_parameter');
        expect(await send({ token }, urlOf(path, elsewhere)), tool.name).toBe('not_found');
        if (call.body) expect(await send(keyless, urlOf(path, elsewhere)), tool.name).toBe('not_found');
      }
      if (call.body) expect(await send(keyless, url), tool.name).toBe('invalid_idempotency_key');
    }
  });

  it('a conditional scope is asked for after the parameters are known to be good', async () => {
    const scopes: Scope[] = SCOPES.filter((scope) => scope !== 'internal_notes_read');
    const { token: partial } = await gateway.issue({ scopes });
    const conditional = calls.filter(({ tool }) => tool.when.some(({ given }) => given === 'include_internal'));
    expect(conditional.length).toBeGreaterThanOrEqual(5);
    for (const { url, tool } of conditional) {
      expect(await codeOf(withQuery(url, 'include_internal=yes'), { token: partial })).toBe('invalid_parameter');
      const denied = await gateway.ask(withQuery(url, 'include_internal=true'), { token: partial });
      expectProblem(denied, 'not_permitted', tool.name);
      expect(denied.body.required).toEqual({ scopes: ['internal_notes_read'], data_access: [], unrestricted: false });
      expect(await codeOf(withQuery(url, 'include_internal=false'), { token: partial })).toBe('200');
    }
  });

  it('quota: after the token, before everything that the request asks for', async () => {
    const { token: small } = await gateway.issue({ perMinute: 1, burst: 1, scopes: ['conversation_read'] });
    expect(await codeOf('/api/v1/conversations/cnv_1_1_9223372036854775807', { token: small })).toBe('not_found');
    expect(await codeOf('/api/v1/conversations/cnv_1_1_9223372036854775807', { token: small })).toBe('quota_exceeded');
    expect(await codeOf('/api/v1/conversations/cnv_9_9_1', { token: small })).toBe('quota_exceeded');
    expect(await codeOf('/api/v1/conversations/cnv_1_1_1?x=1', { token: small })).toBe('quota_exceeded');
    expect(await codeOf('/api/v1/contacts/ctc_1_1_1', { token: small })).toBe('quota_exceeded');
    expect(await codeOf('/api/v1/conversations/cnv_1_1_1')).toBe('unauthenticated');
    expect(await codeOf('/api/v1/conversations/cnv_1_1_1', { method: 'POST' })).toBe('method_not_allowed');
  });
});
