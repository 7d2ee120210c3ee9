import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../support/answer.ts';
import { tracesOf } from '../../support/authority/writes.ts';
import { type AskOptions, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { type Example, examples, freshKey, raw, writer } from '../../support/surfaces/wire.ts';

/**
 * Checks HT-06, HT-08, HT-10 to HT-12, ID-01 and ID-06 with bodies of writes. An answer names the place of the fault
 * but never repeats the value. A faulty body has no effect, and the idempotency key of the request stays unused.
 */
let gateway: TestGateway;
let token: string;
let writes: Write[];
let refusals = 0;

type Body = Readonly<Record<string, unknown>>;
interface Write extends Example {
  readonly body: Body;
  /** The ids are in the path over REST, and are arguments over MCP. */
  readonly ids: Readonly<Record<string, string>>;
}

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await writer(gateway));
  writes = (await examples(gateway)).flatMap(({ body, ...call }) => {
    if (!body) return [];
    const at = call.tool.path.split('/');
    const filled = call.path.split('/');
    const ids = at.flatMap((segment, i) => (segment.startsWith('{') ? [[segment.slice(1, -1), filled[i] ?? '']] : []));
    return [{ ...call, body, ids: { ...Object.fromEntries(ids), ...Object.fromEntries(call.query) } }];
  });
  expect(writes.length).toBe(4);
});
afterAll(async () => {
  console.info(`bodies: ${refusals} refusals, each followed by a success under the same key`);
  await gateway.close();
});

const writeOf = (name: string): Write => writes.find(({ tool }) => tool.name === name) ?? expect.fail(name);
const JSON_TYPE = 'application/json';
const SENT = 'zqx7canary';

type Sending = Omit<AskOptions, 'token'>;

const ask = (write: Write, key: string, sending: Sending): Promise<Answer> =>
  gateway.ask(write.url, {
    ...{ method: 'POST', ...sending, token },
    headers: { 'content-type': JSON_TYPE, 'idempotency-key': key, ...sending.headers },
  });
/** A write with another body and a new key. */
const written = (write: Write, body: Body): Promise<Answer> => ask(write, freshKey(), { body });

async function works(write: Write, key: string, where: string): Promise<void> {
  const answer = await ask(write, key, { body: write.body });
  expect([answer.status, answer.headers['idempotency-replayed']], `${where} ${answer.text}`).toEqual([200, undefined]);
}

/** The requests that `act` sends under the key have no effect. The key is still free after them, and works. */
async function leavesNothing(write: Write, act: (key: string) => Promise<void>): Promise<void> {
  const key = freshKey();
  const before = await tracesOf(gateway.database.sql);
  await act(key);
  expect(await tracesOf(gateway.database.sql), write.tool.name).toBe(before);
  await works(write, key, write.tool.name);
}

/** Refuses each of the requests, and names these places, or the places of the request with this index. */
async function refused(
  write: Write,
  sendings: readonly Sending[],
  code: string,
  named: readonly string[] | ((index: number) => readonly string[]),
): Promise<Answer[]> {
  const answers: Answer[] = [];
  await leavesNothing(write, async (key) => {
    for (const [i, sending] of sendings.entries()) {
      const where = `${write.tool.name} ${JSON.stringify(sending).slice(0, 300)}`;
      const answer = await ask(write, key, sending);
      const status = code === 'unsupported_media_type' ? 415 : 400;
      expect([answer.status, answer.body.code], `${where} ${answer.text}`).toEqual([status, code]);
      if (status === 415) expect(answer.body.detail, where).toContain('application/json in UTF-8');
      const places = (answer.body.errors ?? []).map(
        (one: { pointer?: string; parameter?: string }) => one.pointer ?? one.parameter,
      );
      expect(places, where).toEqual(typeof named === 'function' ? named(i) : named);
      expect(answer.text, where).not.toContain(SENT);
      expect(answer.headers['x-gateway-operation-id'], where).toBeUndefined();
      // A refused request costs units like any other request, so the answer has this header.
      expect(answer.headers['ratelimit'], where).toBeDefined();
      answers.push(answer);
    }
  });
  refusals += sendings.length;
  return answers;
}

async function refusedOverMcp(
  write: Write,
  bodies: readonly Body[],
  code: string,
  named: readonly string[],
): Promise<void> {
  await leavesNothing(write, async (key) => {
    for (const body of bodies) {
      const where = `${write.tool.name} ${JSON.stringify(body).slice(0, 300)}`;
      const { body: answer, text } = await callTool(write, { ...write.ids, ...body, idempotency_key: key });
      expect(answer.error?.code, `${where} ${text}`).toBe(-32602);
      expect(answer.error.data.code, where).toBe(code);
      const places = answer.error.data.errors.map((one: { parameter: string }) => one.parameter);
      expect(places, where).toEqual(named);
      for (const name of named) expect(answer.error.message, where).toContain(name);
      expect(text, where).not.toContain(SENT);
    }
  });
  refusals += bodies.length;
}

/** Over REST and over MCP, all values are refused at this path of the body. */
async function refusedAt(write: Write, path: readonly string[], values: readonly unknown[]): Promise<Answer[]> {
  const bodies = values.map((value) => put(write.body, path, value));
  await refusedOverMcp(write, bodies, 'invalid_parameter', [path.join('.')]);
  return refused(
    write,
    bodies.map((body) => ({ body })),
    'invalid_parameter',
    [pointer(path)],
  );
}

const MCP = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' };
const callTool = ({ tool: { name } }: Write, values: Body): Promise<Answer> =>
  gateway.ask('/mcp', {
    token,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: values } },
    headers: MCP,
  });

const good = (write: Write): string => JSON.stringify(write.body);
const withMember = (write: Write, member: string): string => good(write).replace('{', `{${member},`);

const TEXTS: readonly [tool: string, path: readonly string[]][] = [
  ['visitor_note_add', ['text']],
  ['conversation_disposition_set', ['disposition']],
  ['ai_feature_execute', ['context', 'text']],
  ['ai_feature_execute', ['context', 'type']],
  ['ai_feature_execute', ['context', 'default_language']],
  ['config_plan', ['path']],
  ['config_plan', ['changes', 'name']],
];
function put(body: Body, [first = '', ...rest]: readonly string[], value: unknown): Body {
  const inner = body[first];
  const within = typeof inner === 'object' && inner !== null ? { ...inner } : {};
  return { ...body, [first]: rest.length === 0 ? value : put(within, rest, value) };
}
const pointer = (path: readonly string[]): string => `/${path.join('/')}`;

describe('HT-06 what is a body', () => {
  it('HT-06 another type, charset or coding is 415 on every write', async () => {
    for (const write of writes) {
      const body = good(write);
      const types = [
        ...['text/plain', 'text/json', 'application/problem+json', 'application/x-www-form-urlencoded'],
        ...['multipart/form-data; boundary=x', 'application/json; charset=iso-8859-1'],
        ...['application/json; charset=utf-16', 'application/json; profile=x', 'application/json, text/plain'],
        ...['application/jsonx', ''],
      ].map((type) => ({ raw: body, headers: { 'content-type': type } }));
      const codings = Object.entries({
        gzip: gzipSync(body),
        br: brotliCompressSync(body),
        deflate: deflateSync(body),
        'identity, gzip': gzipSync(body),
        x: Buffer.from(body),
      }).map(([coding, bytes]) => ({ raw: bytes, headers: { 'content-encoding': coding } }));
      await refused(write, [...types, ...codings], 'unsupported_media_type', []);
      for (const headers of [
        { 'content-type': 'Application/JSON; Charset="UTF-8"' },
        { 'content-type': 'application/json; charset=utf-8;' },
        { 'content-type': 'application/json;' },
        { 'content-encoding': 'identity' },
      ]) {
        const { status, text } = await ask(write, freshKey(), { raw: body, headers });
        expect(status, text).toBe(200);
      }
    }
  });

  it('HT-06 64 KiB are taken, one byte more is not, with a length or in chunks', async () => {
    for (const write of writes) {
      const padded = (length: number): string => good(write).padEnd(length, ' ');
      for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
        const answer = await ask(write, freshKey(), { raw: padded(65_536), headers });
        expect(answer.status, answer.text).toBe(200);
        const [large] = await refused(write, [{ raw: padded(65_537), headers }], 'body_too_large', []);
        expect(large?.headers['connection']).toBe('close');
      }
    }
  });

  const head = (write: Write, key: string, ...fields: string[]): string =>
    [
      `POST ${write.url} HTTP/1.1`,
      'Host: 127.0.0.1',
      `Idempotency-Key: ${key}`,
      ...(fields.some((field) => field.startsWith('Content-Type')) ? [] : [`Content-Type: ${JSON_TYPE}`]),
      ...fields,
      '',
      '',
    ].join('\r\n');

  it('HT-06 a length beyond the limit is refused before the body comes, and the connection closed', async () => {
    for (const write of writes) {
      const key = freshKey();
      const fields = [`Authorization: Bearer ${token}`, 'Content-Length: 1000000000'];
      const { text, closed } = await raw(gateway.port, head(write, key, ...fields), { patience: 3_000 });
      expect(text).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"body_too_large"/);
      expect(closed).toBe(true);
      const stranger = await raw(gateway.port, head(write, key, 'Content-Length: 9', 'Connection: close'), {
        patience: 3_000,
      });
      expect(stranger.text).toMatch(/^HTTP\/1\.1 401 /);
      await works(write, key, write.tool.name);
    }
  });

  it('HT-06 Expect: 100-continue is met when the body is wanted, and only then', async () => {
    for (const write of writes) {
      const body = good(write);
      const length = `Content-Length: ${Buffer.byteLength(body)}`;
      const mine = `Authorization: Bearer ${token}`;
      const ask = (key: string, ...fields: string[]) =>
        head(write, key, 'Expect: 100-continue', 'Connection: close', ...fields);
      const wanted = await raw(gateway.port, ask(freshKey(), mine, length) + body, { patience: 3_000 });
      expect(wanted.text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
      for (const [status, fields] of [
        [400, [mine, 'Content-Length: 65537']],
        [415, [mine, length, 'Content-Type: text/plain']],
        [415, [mine, length, 'Content-Encoding: gzip']],
        [401, [length]],
        [400, [mine, length, 'Idempotency-Key: other']],
      ] as const) {
        const key = freshKey();
        const { text } = await raw(gateway.port, ask(key, ...fields), { patience: 3_000 });
        expect(text.startsWith(`HTTP/1.1 ${status} `), `${fields} ${text}`).toBe(true);
        await works(write, key, String(fields));
      }
    }
  });

  it('what is no JSON object, no JSON or no UTF-8 is 400', async () => {
    for (const write of writes) {
      const places = ['', ...Object.keys(write.body).map((name) => `/${name}`)];
      const others = ['[]', '"x"', '1', 'null', 'true', `[${good(write)}]`];
      await refused(
        write,
        others.map((raw) => ({ raw })),
        'invalid_request',
        places,
      );
      const body = good(write);
      const bytes = Buffer.from(body);
      const at = bytes.lastIndexOf('"') - 1;
      const spliced = (...wrong: number[]) =>
        Buffer.concat([bytes.subarray(0, at), Buffer.from(wrong), bytes.subarray(at)]);
      const broken = [
        ...['', ' ', '{', '}', body.slice(0, -1), `${body}}`, `${body}${body}`, `${body},`, 'undefined', 'NaN'],
        ...[
          body.replaceAll('"', "'"),
          `/* */${body}`,
          body.replace(/}$/, ',}'),
          `\uFEFF${body}`,
          body.replace(':', '='),
        ],
        ...[
          spliced(0xc3, 0x28),
          spliced(0xff),
          spliced(0xc0, 0xaf),
          spliced(0xed, 0xa0, 0x80),
          spliced(0xf4, 0x90, 0x80, 0x80),
        ],
        ...[Buffer.from(body, 'utf16le'), spliced(0x00), spliced(0x0a)],
      ];
      await refused(
        write,
        broken.map((raw) => ({ raw })),
        'invalid_json',
        [],
      );
    }
  });
});

describe('HT-11 JSON that could be read in two ways, or is too much', () => {
  it('HT-11 a member twice, at any depth; 33 levels; 1,001 members', async () => {
    for (const write of writes) {
      const [first = ''] = Object.keys(write.body);
      const twice = `"${first}":${JSON.stringify(write.body[first])}`;
      const deep = (levels: number) => `"${SENT}x":${'['.repeat(levels)}${']'.repeat(levels)}`;
      const many = (n: number) => Array.from({ length: n }, (_, i) => `"m${i}":0`).join(',');
      const own = good(write).split('":').length - 1;
      const members = [
        ...[twice, `"\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}${first.slice(1)}":1`, '"x":{"a":1,"a":1}'],
        ...['"x":[{"a":{"b":[{"c":1,"\\u0063":2}]}}]', '"__proto__":1,"__proto__":2', deep(32)],
        ...[`"x":${'{"a":'.repeat(32)}1${'}'.repeat(32)}`, many(1_001 - own), '"x":1e999', '"\\ud800":1'],
        '"x":"\\udc00"',
      ];
      await refused(
        write,
        members.map((member) => ({ raw: withMember(write, member) })),
        'invalid_json',
        [],
      );
      // These bodies are just within the limits for depth and for the number of members. The gateway refuses these
      // bodies only because the members are unknown.
      for (const member of [deep(31), many(1_000 - own)]) {
        const named = member.startsWith('"m0"') ? Array.from({ length: 20 }, (_, i) => `/m${i}`) : [`/${SENT}x`];
        const key = freshKey();
        const { status, body } = await ask(write, key, { raw: withMember(write, member) });
        expect([status, body.code]).toEqual([400, 'unsupported_parameter']);
        expect(body.errors.map((one: { pointer: string }) => one.pointer)).toEqual(named);
        await works(write, key, member.slice(0, 80));
      }
    }
  });

  it.each(TEXTS)('HT-11 %s %j: NUL and lone surrogates are 400 and never 500', async (name, path) => {
    const write = writeOf(name);
    await refusedAt(write, path, ['\0', `${SENT}\0`, `\0${SENT}`]);
    const halves = ['\\ud800', '\\udfff', '\\udc00\\ud800', `${SENT}\\ud83d`].map((half) => ({
      raw: JSON.stringify(put(write.body, path, 'HERE')).replace('HERE', half),
    }));
    await refused(write, halves, 'invalid_json', []);
    for (const answer of await refusedAt(write, path, ['', 1, null, true, [SENT], { [SENT]: SENT }]))
      expect(answer.body.errors[0].code).toBe('invalid_parameter');
  });

  it.each([
    ['visitor_note_add', ['text'], 4_000],
    ['conversation_disposition_set', ['disposition'], 200],
  ] as const)('HT-11 %s %j: at most %d UTF-16 units as sent', async (name, path, max) => {
    const write = writeOf(name);
    for (const text of [
      'x'.repeat(max),
      '😀'.repeat(max / 2),
      `${'e\u0301'.repeat(max / 2)}`,
      `${' '.repeat(max - 1)}x`,
    ]) {
      expect(text.length).toBe(max);
      const body = put(write.body, path, text);
      const { status, body: got, text: said } = await written(write, body);
      // The length of this text is allowed. A disposition with this text is still refused, because no disposition has
      // this value.
      expect(status, said).toBe(name === 'conversation_disposition_set' ? 409 : 200);
      if (name === 'visitor_note_add') expect(got.data.note.text).toBe(text);
    }
    await refusedAt(write, path, [
      'x'.repeat(max + 1),
      `${'😀'.repeat(max / 2)}x`,
      '😀'.repeat(max / 2 + 1),
      '😀'.repeat(max),
      `x${' '.repeat(max)}`,
    ]);
  });

  it.each([
    ['ai_feature_execute', ['context', 'text'], 4_000],
    ['config_plan', ['changes', 'name'], 200],
  ] as const)('HT-11 %s %j: at most %d characters, as the contract says of these', async (name, path, max) => {
    const write = writeOf(name);
    for (const text of ['x'.repeat(max), '😀'.repeat(max), ' '.repeat(max)]) {
      const { status, text: said } = await written(write, put(write.body, path, text));
      expect(status, said).toBe(200);
    }
    await refusedAt(write, path, ['x'.repeat(max + 1), '😀'.repeat(max + 1)]);
  });

  it('HT-11 blank is what Unicode calls White_Space, and nothing else', async () => {
    const blanks = '\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2009\u200a\u2028\u2029\u202f\u205f\u3000';
    for (const [name, member] of [
      ['visitor_note_add', 'text'],
      ['conversation_disposition_set', 'disposition'],
    ] as const) {
      const write = writeOf(name);
      await refusedAt(write, [member], [...blanks, blanks, '\u0085\u3000']);
      for (const text of ['\ufeff', '\u200b', '\u180e', '\u2060', '\u0001', `\u3000\ufeff\u0085`]) {
        const answer = await written(write, { [member]: text });
        expect(answer.status, `${encodeURIComponent(text)} ${answer.text}`).toBe(member === 'text' ? 200 : 409);
        // The stored note must have exactly this text, with the blanks at its start and end.
        if (member === 'text') expect(answer.body.data.note.text).toBe(text);
      }
    }
    const disposition = String(writeOf('conversation_disposition_set').body['disposition']);
    for (const [text, status] of [
      [`${blanks}${disposition}${blanks}`, 200],
      [`\ufeff${disposition}`, 409],
      [`${disposition}\u200b`, 409],
      [disposition.toUpperCase(), 409],
    ] as const) {
      const answer = await written(writeOf('conversation_disposition_set'), { disposition: text });
      expect(answer.status, `${encodeURIComponent(text)} ${answer.text}`).toBe(status);
    }
  });
});

describe('HT-12 numbers and members', () => {
  it.each(['ai_feature_execute', 'config_plan'])('HT-12 %s: expected_version is an integer of JSON', async (name) => {
    const write = writeOf(name);
    const version = Number(write.body['expected_version']);
    const saying = (text: string): string =>
      JSON.stringify({ ...write.body, expected_version: 'HERE' }).replace('"HERE"', text);
    const integers = [
      ...['-0', '0', '-1', '2147483648', '9007199254740993', '1e300', '1.5', `"${version}"`, 'null', 'true', '[1]'],
      '{}',
    ];
    const raws = integers.map((text) => ({ raw: saying(text) }));
    await refused(write, raws, 'invalid_parameter', ['/expected_version']);
    const bodies = integers.map((text) => ({ ...write.body, expected_version: JSON.parse(text) }));
    await refusedOverMcp(write, bodies, 'invalid_parameter', ['expected_version']);
    const broken = ['01', '+1', '0x1', '.5', '1.', '1e', 'Infinity', '1_0', '1e999'].map((text) => ({
      raw: saying(text),
    }));
    await refused(write, broken, 'invalid_json', []);
    // In JSON, 1.0 and 1e0 are the integer 1 (JSON Schema, 6.1.1; RFC 8785). These bodies are therefore equal, and the
    // second request is a replay.
    const key = freshKey();
    for (const [i, text] of [`${version}`, `${version}.0`, `${version}e0`, `${version * 10}e-1`].entries()) {
      const answer = await ask(write, key, { raw: saying(text) });
      expect([answer.status, answer.headers['idempotency-replayed']], text).toEqual([
        200,
        i === 0 ? undefined : 'true',
      ]);
    }
    const stale = await written(write, { ...write.body, expected_version: 2_147_483_647 });
    expect([stale.status, stale.body.code]).toEqual([409, 'operation_conflict']);
  });

  it('members of path, query and header in the body, unknown ones at any depth, and missing ones', async () => {
    for (const write of writes) {
      const foreign = [
        ...['website_id', 'visitor_id', 'idempotency_key', 'limit', 'data', 'constructor', '__proto__', 'toString'],
      ];
      const raws = foreign.map((name) => ({ raw: withMember(write, `"${name}":"${SENT}"`) }));
      await refused(write, raws, 'unsupported_parameter', (i) => [`/${foreign[i]}`]);
      const unprintable = ['', `${SENT} x`, '~', '/', 'ä', 'x'.repeat(65)].map((name) => ({
        body: { ...write.body, [name]: SENT },
      }));
      await refused(write, unprintable, 'unsupported_parameter', ['/(unprintable)']);
      for (const name of Object.keys(write.body)) {
        const { [name]: _, ...without } = write.body;
        const [answer] = await refused(write, [{ body: without }], 'invalid_parameter', [`/${name}`]);
        expect(answer?.body.errors).toEqual([{ pointer: `/${name}`, code: 'missing', expected: expect.any(String) }]);
        await refusedOverMcp(write, [without], 'invalid_parameter', [name]);
        const url = `${write.url}${write.url.includes('?') ? '&' : '?'}${name}=${SENT}`;
        const both = await written({ ...write, url }, write.body);
        expect(both.body).toMatchObject({ code: 'unsupported_parameter', errors: [{ parameter: name }] });
      }
      await refusedOverMcp(write, [{ ...write.body, nonsense: SENT }], 'unsupported_parameter', ['nonsense']);
    }
    for (const [name, member] of [
      ['ai_feature_execute', 'context'],
      ['config_plan', 'changes'],
    ] as const) {
      const write = writeOf(name);
      const [inner] = Object.keys(Object(write.body[member]));
      for (const unknown of ['website_id', 'x', 'constructor', '__proto__']) {
        const raw = good(write).replace(`"${member}":{`, `"${member}":{"${unknown}":"${SENT}",`);
        await refused(write, [{ raw }], 'unsupported_parameter', [`/${member}/${unknown}`]);
        await refusedOverMcp(write, [JSON.parse(raw)], 'unsupported_parameter', [`${member}.${unknown}`]);
      }
      expect(inner).toBeDefined();
      const wrong = [null, [], 'x', 1].map((value) => ({ body: { ...write.body, [member]: value } }));
      await refused(write, wrong, 'invalid_parameter', [`/${member}`]);
    }
    const plan = writeOf('config_plan');
    await refused(plan, [{ body: { ...plan.body, changes: {} } }], 'invalid_parameter', ['/changes']);
    const paths = ['/ai/features', '/ai/features/', '/ai/features/x', 'ai/features', `/ai/features/${SENT}`];
    await refused(
      plan,
      paths.map((path) => ({ body: { ...plan.body, path } })),
      'invalid_parameter',
      ['/path'],
    );
  });
});

describe('ID-01 the key', () => {
  const bad = ['', ' ', 'a b', 'a\tb', 'k\u00e9', 'x'.repeat(129), 'a,b c'];

  it('ID-01 HT-08 none, two, or one that is not 1 to 128 visible ASCII characters is 400 and has no effect', async () => {
    for (const write of writes) {
      const before = await tracesOf(gateway.database.sql);
      const send = (headers: Record<string, string | string[]>) =>
        gateway.ask(write.url, { token, body: write.body, headers });
      const none = await send({});
      expect([none.status, none.body.code]).toEqual([400, 'idempotency_key_required']);
      expect(none.body.errors).toEqual([
        { parameter: 'Idempotency-Key', code: 'missing', expected: expect.any(String) },
      ]);
      for (const key of bad) {
        const answer = await send({ 'idempotency-key': key });
        expect([answer.status, answer.body.code], key).toEqual([400, 'invalid_idempotency_key']);
        expect(answer.body.errors).toMatchObject([{ parameter: 'Idempotency-Key', code: 'invalid_idempotency_key' }]);
      }
      // Node's HTTP client refuses to send these keys, so write the request by hand.
      for (const key of ['\x7f', 'a\x7fb', 'k\u00fc\u4e2d']) {
        const fields = [
          `Idempotency-Key: ${key}`,
          `Content-Type: ${JSON_TYPE}`,
          'Content-Length: 2',
          'Connection: close',
        ];
        const head = [`POST ${write.url} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${token}`, ...fields];
        const { text } = await raw(gateway.port, `${head.join('\r\n')}\r\n\r\n{}`, { patience: 3_000 });
        expect(text, key).toMatch(/^HTTP\/1\.1 400 /);
      }
      const key = freshKey();
      for (const two of [
        [key, key],
        [key, 'other'],
        ['', key],
      ]) {
        const answer = await send({ 'idempotency-key': two });
        expect([answer.status, answer.body.code]).toEqual([400, 'duplicate_parameter']);
        expect(answer.body.errors).toMatchObject([{ parameter: 'idempotency-key', code: 'duplicate_parameter' }]);
      }
      expect(await tracesOf(gateway.database.sql)).toBe(before);
      await works(write, key, 'after two headers');
      for (const longest of [`${freshKey()}!~"',;=`, freshKey().padEnd(128, '~')]) await works(write, longest, longest);
    }
  });

  it('ID-01 over MCP the argument is named, whatever its type', async () => {
    for (const write of writes) {
      const before = await tracesOf(gateway.database.sql);
      const values = { ...write.ids, ...write.body };
      for (const key of [...bad, 1, null, true, [], {}]) {
        const { body } = await callTool(write, { ...values, idempotency_key: key });
        expect(body.error, JSON.stringify(key)).toMatchObject({
          code: -32602,
          data: { code: 'invalid_idempotency_key', errors: [{ parameter: 'idempotency_key' }] },
        });
      }
      const { body } = await callTool(write, values);
      expect(body.error.data).toMatchObject({
        code: 'idempotency_key_required',
        errors: [{ parameter: 'idempotency_key', code: 'missing', expected: expect.any(String) }],
      });
      expect(await tracesOf(gateway.database.sql)).toBe(before);
    }
  });
});
