import { mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newSecret } from '../../../src/auth/tokens.ts';
import { collecting, held, type Started, start } from '../../bench/processes.ts';
import { main } from '../../support/command.ts';
import { issue } from '../../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { times } from '../../support/form.ts';
import { freePort } from '../../support/port.ts';
import { ENVELOPE, MODERN, post } from '../../support/surfaces/mcp.ts';
import type { RpcOptions } from '../../support/surfaces/rpc.ts';

/**
 * Check MC-08: clients send thousands of bad requests on connections that stay open. Each request must get its
 * documented answer, and the memory of the server must not grow. The test measures a compiled `gateway serve` in its
 * own process.
 */
const REQUESTS = times(2_000, 10_000);
const CONNECTIONS = 16;
const MB = 20;

const seed = Number(process.env['FC_SEED'] ?? Math.floor(Date.now() % 2 ** 31));
const folder = mkdtempSync(join(tmpdir(), 'gateway-flood-'));
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
let database: TestDatabase;
let server: Started;
let port: number;
let token: string;

beforeAll(async () => {
  database = await freshDatabase('demo');
  ({ token } = await issue(database.sql, 1));
  port = await freePort();
  server = await start(collecting(main, folder), ['serve'], {
    DATABASE_URL: `postgres://postgres@${encodeURIComponent(database.host)}:${database.port}/${database.name}`,
    HOST: '127.0.0.1',
    PORT: String(port),
    LOG_LEVEL: 'info',
    GATEWAY_DATA_DIR: join(folder, 'data'),
  });
});
afterAll(async () => {
  agent.destroy();
  await server?.stop();
  await database?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Bad {
  readonly kind: string;
  readonly status: number;
  readonly code: number | string;
  readonly body?: string | Uint8Array;
  readonly options?: RpcOptions;
  readonly bearer?: string | undefined;
}

const word = fc.stringMatching(/^[a-z]{1,12}$/);
const message = (method: unknown, params?: unknown, id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) });
const PING = message('ping');
const CALL = message('tools/call', { name: 'conversations_list', arguments: { website_id: 'web_1_1', limit: 3 } });

/**
 * A malformed body, padded to 16 KiB. If the server kept only one such body in eight, its memory would grow beyond the
 * limit.
 */
const parse = (kind: string, body: fc.Arbitrary<string | Uint8Array>, chunked = false): fc.Arbitrary<Bad> =>
  body.map((text) => ({
    kind,
    status: 400,
    code: -32700,
    body: typeof text === 'string' ? text.padEnd(16_384) : text,
    options: { chunked },
  }));
const envelope = (kind: string, body: fc.Arbitrary<unknown>): fc.Arbitrary<Bad> =>
  body.map((value) => ({ kind, status: 400, code: -32600, body: JSON.stringify(value) }));
const params = (kind: string, method: fc.Arbitrary<string>, value: fc.Arbitrary<unknown>): fc.Arbitrary<Bad> =>
  fc.tuple(method, value).map(([name, given]) => ({ kind, status: 200, code: -32602, body: message(name, given) }));
const door = (
  kind: string,
  status: number,
  code: string,
  options: fc.Arbitrary<RpcOptions>,
  bearer?: fc.Arbitrary<string | undefined>,
): fc.Arbitrary<Bad> =>
  fc.tuple(options, bearer ?? fc.constant('')).map(([given, token]) => ({
    kind,
    status,
    code,
    body: CALL,
    options: given,
    ...(bearer && { bearer: token }),
  }));

const malformed: fc.Arbitrary<Bad> = fc.oneof(
  parse(
    'cut off',
    fc.nat(CALL.length - 1).map((length) => CALL.slice(0, length)),
  ),
  parse(
    'not UTF-8',
    fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Uint8Array.from([...bytes, 0xff])),
  ),
  parse(
    'deep',
    fc.integer({ min: 33, max: 5_000 }).map((depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`),
  ),
  parse(
    'a member twice',
    word.map((key) => message('ping').replace('}', `,"params":{"${key}":1,"${key}":2}}`)),
  ),
  parse(
    'a surrogate',
    word.map((text) => PING.replace('1,', `"${text}\\ud800",`)),
  ),
  parse(
    'beyond a double',
    fc.integer({ min: 309, max: 9_999 }).map((power) => PING.replace('1,', `1e${power},`)),
  ),
  parse(
    'many members',
    fc
      .integer({ min: 1_001, max: 2_000 })
      .map((n) => message('ping', Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 0])))),
  ),
  parse(
    'too large, in chunks',
    fc.integer({ min: 65_537, max: 70_000 }).map((size) => PING.padEnd(size)),
    true,
  ),
  parse(
    'too large',
    fc.integer({ min: 65_537, max: 70_000 }).map((size) => PING.padEnd(size)),
  ),
  envelope('a batch', fc.array(fc.jsonValue(), { maxLength: 5 })),
  envelope('no object', fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null))),
  envelope('no method', fc.dictionary(word, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 5 })),
  envelope(
    'a bad id',
    fc.constantFrom<unknown>(null, {}, [], 1.5, true, 2 ** 53).map((id) => ({ jsonrpc: '2.0', id, method: 'ping' })),
  ),
  envelope(
    'bad params',
    fc
      .constantFrom<unknown>([], null, 1, 'x')
      .map((value) => ({ jsonrpc: '2.0', id: 1, method: 'ping', params: value })),
  ),
  envelope(
    'a member too many',
    word.map((name) => ({ jsonrpc: '2.0', id: 1, method: 'ping', [`x${name}`]: 1 })),
  ),
  word.map((name): Bad => ({ kind: 'no method', status: 200, code: -32601, body: message(`x/${name}`, { name }) })),
  params('no name', fc.constantFrom('tools/call', 'prompts/get', 'resources/read', 'initialize'), fc.constant({})),
  params(
    'a cursor',
    fc.constantFrom('tools/list', 'resources/list', 'prompts/list'),
    fc.record({ cursor: fc.jsonValue() }),
  ),
  params('no such thing', fc.constantFrom('tools/call', 'prompts/get'), fc.record({ name: word })),
  params('no resource', fc.constant('resources/read'), fc.record({ uri: fc.string() })),
  params(
    'bad arguments',
    fc.constant('tools/call'),
    fc.record({
      name: fc.constant('conversations_list'),
      arguments: fc.dictionary(word, fc.jsonValue(), { maxKeys: 20 }),
    }),
  ),
  door(
    'Accept',
    406,
    'not_acceptable',
    fc.constantFrom({ headers: { accept: 'text/html' } }, { headers: { accept: undefined } }),
  ),
  door(
    'Content-Type',
    415,
    'unsupported_media_type',
    word.map((type) => ({ headers: { 'content-type': `text/${type}` } })),
  ),
  door('compressed', 415, 'unsupported_media_type', fc.constant({ headers: { 'content-encoding': 'gzip' } })),
  word.map((version): Bad => ({ kind: 'a version', status: 400, code: -32022, body: PING, options: { version } })),
  ...(
    [
      ['a header unlike the body', 400, -32020, 'tools/list', ENVELOPE, 'x'],
      ['a bad _meta', 400, -32602, 'tools/list', {}, ''],
      ['an unknown method of 2026-07-28', 404, -32601, 'x', ENVELOPE, ''],
    ] as const
  ).map(([kind, status, code, method, _meta, more]) =>
    word.map((padding): Bad => {
      const options = { version: MODERN, headers: { 'mcp-method': method + more } };
      return { kind, status, code, body: message(method, { _meta, padding: padding.padEnd(16_384) }), options };
    }),
  ),
  door(
    'an origin',
    403,
    'origin_not_allowed',
    word.map((name) => ({ headers: { origin: `https://${name}.example` } })),
  ),
  door(
    'a host',
    403,
    'origin_not_allowed',
    word.map((name) => ({ headers: { host: `${name}.example` } })),
  ),
  door(
    'a query',
    400,
    'unsupported_parameter',
    word.map((query) => ({ path: `/mcp?${query}` })),
  ),
  door('a method', 405, 'method_not_allowed', fc.constantFrom({ verb: 'PUT' }, { verb: 'PATCH' }, { verb: 'DELETE' })),
  door('no token', 401, 'unauthenticated', fc.constant({}), fc.constant(undefined)),
  door('no token of ours', 401, 'unauthenticated', fc.constant({}), word),
  door('an unknown token', 401, 'unauthenticated', fc.constant({}), fc.constantFrom(newSecret('installation_test'))),
);

/** Returns the answers that differ from the documentation, and the number of answers of each kind. */
async function flood(requests: readonly Bad[]): Promise<{ wrong: string[]; kinds: Map<string, number> }> {
  const wrong: string[] = [];
  const kinds = new Map<string, number>();
  let next = 0;
  const client = async (): Promise<void> => {
    for (let bad = requests[next++]; bad; bad = requests[next++]) {
      const { kind, status, code, body, options } = bad;
      const bearer = 'bearer' in bad ? bad.bearer : token;
      const answer = await post(port, bearer, body, { ...options, agent });
      const said = answer.body.error?.code ?? answer.body.code;
      if (answer.status !== status || said !== code)
        wrong.push(`${kind}: ${answer.status} ${said} ${String(body).slice(0, 200)} ${answer.text.slice(0, 200)}`);
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  return { wrong, kinds };
}

it(`MC-08 ${REQUESTS} bad requests: each its documented answer, no 5xx, none hangs, no growth`, async () => {
  const warm = fc.sample(malformed, { seed: seed + 1, numRuns: 3_000 });
  const requests = fc.sample(malformed, { seed, numRuns: REQUESTS });
  expect((await flood(warm)).wrong.slice(0, 5)).toEqual([]);
  const before = await held(server);
  const began = performance.now();
  const { wrong, kinds } = await flood(requests);
  const seconds = (performance.now() - began) / 1000;
  const after = await held(server);
  process.stderr.write(
    `MCP flood: FC_SEED=${seed}, ${REQUESTS} bad requests of ${kinds.size} kinds in ${seconds.toFixed(1)} s, ` +
      `RSS ${before.toFixed(0)} -> ${after.toFixed(0)} MB\n`,
  );
  expect(wrong.slice(0, 5)).toEqual([]);
  expect([...kinds.values()].reduce((sum, n) => sum + n, 0)).toBe(REQUESTS);
  expect(after - before).toBeLessThan(MB);
  expect((await post(port, token, CALL, { agent })).body.result.isError).toBe(false);
});
