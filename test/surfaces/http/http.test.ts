import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publicApp } from '../../../src/surfaces/http/app.ts';
import type { RequestHandler } from '../../../src/surfaces/http/records.ts';
import {
  type RunningServer,
  type ServerOptions,
  startServer,
  type Timeouts,
} from '../../../src/surfaces/http/server.ts';
import { restSurface } from '../../../src/surfaces/rest/rest.ts';
import { exchange } from '../../support/answer.ts';
import { everyOnce, itOnce } from '../../support/form.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import {
  bytesOf,
  type Example,
  examples,
  parse,
  raw,
  requestOf,
  WEB,
  withQuery,
  writer,
} from '../../support/surfaces/wire.ts';

let gateway: TestGateway;
let token: string;
let calls: Example[];
/** One call of three in `npm test`, and the others in the mode `rest`. */
let chosen: readonly Example[];
const servers: RunningServer[] = [];

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await writer(gateway));
  calls = await examples(gateway);
  expect(calls.length).toBeGreaterThanOrEqual(42);
  chosen = everyOnce(calls, 3);
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
  await gateway.close();
});

/** How many documents the servers have made. */
let made = 0;

async function serverWith(
  timeouts: Timeouts,
  first: readonly RequestHandler[] = [],
  more: Partial<ServerOptions> = {},
): Promise<RunningServer> {
  const server = await startServer({
    host: '127.0.0.1',
    baseUrl: BASE_URL,
    port: 0,
    tls: undefined,
    log: pino({ level: 'silent' }),
    handlers: [...first, restSurface(gateway.corridor, BASE_URL)],
    otherwise: publicApp({
      baseUrl: BASE_URL,
      openapi: () => ({ made: ++made }),
      ready: async () => true,
    }),
    timeouts,
    ...more,
  });
  servers.push(server);
  return server;
}

const PATIENT: Timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 30_000,
  connectionsCheckingInterval: 2_000,
  timeout: 20_000,
  reply: 30_000,
};

const head = (line: string, ...fields: string[]): string =>
  [line, 'Host: 127.0.0.1', `Authorization: Bearer ${token}`, ...fields, '', ''].join('\r\n');
const WEBSITES = 'GET /api/v1/websites HTTP/1.1';

describe('HT-01 headers', () => {
  const FIXED = {
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
  };

  it('HT-01 every operation: hardened, not stored, no software named, no CORS', async () => {
    for (const call of chosen) {
      const { tool, url } = call;
      for (const options of [{ token }, { token, method: 'HEAD' }, {}, { token, method: 'DELETE' }]) {
        const { headers, status } = await gateway.ask(
          url,
          requestOf(call, { ...options, headers: { origin: 'https://evil.example' } }),
        );
        const absent = ['operation_get', 'subscription_get', 'events_pull'].includes(tool.name);
        if (options.token !== undefined && options.method === undefined && !absent) expect(status, tool.name).toBe(200);
        expect(headers, `${tool.name} ${status}`).toMatchObject({ ...FIXED, 'cache-control': 'no-store' });
        for (const name of ['server', 'x-powered-by', 'access-control-allow-origin', 'set-cookie'])
          expect(headers[name], `${tool.name} ${name}`).toBeUndefined();
        // Only an answer of a read has an entity tag.
        if (tool.effect === 'write' || status !== 200) expect(headers['etag'], tool.name).toBeUndefined();
        expect(headers['date']).toBeDefined();
      }
    }
  });

  itOnce('HT-01 documents, probes, unknown paths and refusals of bad HTTP too', async () => {
    for (const path of ['/livez', '/readyz', '/api/v1/openapi.json', '/', '/nothing', '/api/v1/%00', '/%ZZ']) {
      const { headers, status } = await gateway.ask(path);
      expect(headers, `${path} ${status}`).toMatchObject(FIXED);
      if (status >= 400) expect(headers['cache-control']).toBe('no-store');
    }
    for (const [bytes, status] of [
      ['rubbish\r\n\r\n', 400],
      ['FOO / HTTP/1.1\r\n\r\n', 400],
      [`${WEBSITES}\r\n\r\n`, 400],
      [`GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
      ['CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ] as const) {
      const { headers, body, status: got } = parse((await raw(gateway.port, bytes)).text);
      expect(got).toBe(status);
      expect(Object.fromEntries(headers)).toMatchObject({ ...FIXED, 'cache-control': 'no-store' });
      expect(headers.get('content-length')).toBe(String(Buffer.byteLength(body)));
      expect(headers.get('content-type')).toBe('application/problem+json');
      const request_id = headers.get('x-request-id');
      expect(request_id).toMatch(/^req_[a-f0-9]{32}$/);
      const code = status === 405 ? 'method_not_allowed' : 'invalid_request';
      const type = `${BASE_URL}/problems/${code}`;
      expect(JSON.parse(body)).toEqual({ type, title: expect.any(String), status, code, request_id });
    }
  });
});

const INVALID = /^invalid_(parameter|cursor)$/;
const named = ({ tool }: Example, type?: string): string[] =>
  tool.parameters.filter((one) => one.in === 'query' && (type ?? one.type) === one.type).map(({ name }) => name);

/**
 * Gives all these parameters a fault in one request, and expects errors that name them. A fault that the answer does not
 * name is sent alone. Returns the number of faults.
 */
async function refusesEach(
  call: Example,
  names: readonly string[],
  fault: (name: string) => string,
  code = INVALID,
): Promise<number> {
  const refused = async (some: readonly string[]): Promise<string[]> => {
    const others = call.query.filter(([name]) => !some.includes(name)).map(([name, value]) => `${name}=${value}`);
    const url = `${call.path}?${[...some.map(fault), ...others].join('&')}`;
    const { status, body, text } = await gateway.ask(url, requestOf(call, { token }));
    expect(status, `${call.tool.name} ${url} ${text}`).toBe(400);
    expect(body.code, `${call.tool.name} ${url}`).toMatch(code);
    return body.errors.map(({ parameter }: { parameter: string }) => parameter);
  };
  const told = names.length > 1 ? await refused(names) : [];
  for (const name of names) if (!told.includes(name)) expect(await refused([name]), call.tool.name).toContain(name);
  return names.length;
}

describe('HT-02 query parameters', () => {
  const PIECES = [
    ...['unknown=1', 'a[]=1', 'a[b]=1', '__proto__=1', 'constructor=1', '=1', '=', '&', 'a', '%ZZ=1', '%=1', '%ff=1'],
    ...['website_id[]=web_1_1', 'Website_id=web_1_1', 'access_token=x'],
  ];

  it('HT-02 unknown, array-like, unnamed and badly encoded ones are 400 on every operation, 401 without a token', async () => {
    const refusals = async (call: Example, query: string): Promise<number> => {
      const { tool, url } = call;
      const where = `${tool.name} ?${query}`;
      const { status, body } = await gateway.ask(withQuery(url, query), requestOf(call, { token }));
      expect([status, body.code], where).toEqual([400, 'unsupported_parameter']);
      expect((await gateway.ask(withQuery(url, query), requestOf(call))).status, where).toBe(401);
      return body.errors.length;
    };
    // One request has all of them, and the answer names each. Alone, they are sent to one operation.
    const all = PIECES.join('&');
    for (const call of chosen) expect(await refusals(call, all), call.tool.name).toBe(all.split('&').length);
    const [first] = chosen;
    for (const piece of PIECES) expect(first && (await refusals(first, piece)), piece).toBeGreaterThan(0);
  });

  it('HT-02 every declared parameter is 400 when given twice, badly encoded or with NUL', async () => {
    let asked = 0;
    const coded = (name: string): string =>
      encodeURIComponent(name).replace(/^./, (first) => `%${first.charCodeAt(0).toString(16)}`);
    for (const [fault, code] of [
      [
        (name: string, value: string) => `${name}=${value}&${name}=${value}`,
        /^(duplicate_parameter|invalid_parameter|invalid_cursor)$/,
      ],
      [(name: string, value: string) => `${name}=${value}&${coded(name)}=x`, /./],
      [(name: string) => `${name}=%`, INVALID],
      [(name: string) => `${name}=%E0%A4%A`, INVALID],
      [(name: string) => `${name}=%C0%AF`, INVALID],
      [(name: string) => `${name}=%ED%A0%80`, INVALID],
      [(name: string) => `${name}=a%00b`, INVALID],
      [(name: string) => name, INVALID],
    ] as const)
      for (const call of chosen)
        asked += await refusesEach(
          call,
          named(call),
          (name) => fault(name, Object.fromEntries(call.query)[name] ?? 'x'),
          code,
        );
    expect(asked).toBeGreaterThan(12 * chosen.length);
  });

  itOnce('HT-02 a thousand parameters make a short answer', async () => {
    const answer = await gateway.ask(`/api/v1/websites?${'a=1&'.repeat(1_000)}`, { token });
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toHaveLength(20);
  });
});

describe('HT-03 paths', () => {
  it('HT-03 nothing but a path’s own spelling reaches it, with or without a token', async () => {
    for (const call of chosen) {
      const { tool, path, query } = call;
      const tail = query.map(([name, value]) => `${name}=${value}`).join('&');
      const last = path.lastIndexOf('/');
      const variants = [
        ...[path.toUpperCase(), path.replace('/api/', '/Api/'), `${path}/`, `/${path}`, path.replaceAll('/', '//')],
        ...[`${path.slice(0, last)}/.${path.slice(last)}`, `${path.slice(0, last)}/x/..${path.slice(last)}`],
        ...[`${path.slice(0, last)}/x/%2e%2e${path.slice(last)}`, `${path.slice(0, last)}%2F${path.slice(last + 1)}`],
        ...[`${path.slice(0, last)}%5C${path.slice(last + 1)}`, `${path.slice(0, last)}\\${path.slice(last + 1)}`],
        `${path.slice(0, last)}/%EF%BC%8F${path.slice(last + 1)}`,
        ...[`${path.slice(0, last)}%C0%AF${path.slice(last + 1)}`, `${path}%00`, `${path}%20`, `${path};x`],
        ...[`${path};x=1`, `${path}.json`, `${path}%ZZ`, `${path}%`, `/v1/..${path}`, path.replace('api', '%61pi')],
      ];
      for (const [i, variant] of variants.entries()) {
        // Each operation and each variant are asked with and without a token.
        const auth = (i + calls.indexOf(call)) % 2 === 0 ? { token } : {};
        const answer = await gateway.ask(tail === '' ? variant : `${variant}?${tail}`, requestOf(call, auth));
        // An id in capital letters has the wrong format, but the path is right. The answer is 400, or 401 without a
        // token, and never 404.
        const segment =
          /\{\w+\}$/.test(tool.path) && /^[A-Za-z0-9_-]+$/.test(variant.slice(variant.lastIndexOf('/') + 1));
        const allowed = segment && variant.startsWith('/api/v1/') ? ('token' in auth ? [400, 404] : [401, 404]) : [404];
        expect(allowed, `${tool.name} ${variant} ${answer.text}`).toContain(answer.status);
      }
    }
  });

  itOnce('HT-03 other request targets name nothing', async () => {
    for (const target of [
      '*api/v1/websites',
      '*',
      'ftp://127.0.0.1/api/v1/websites',
      'https://evil.example/api/v1/websites',
      '/api/v1/websites#x',
      '//evil.example/api/v1/websites',
    ]) {
      const { text } = await raw(gateway.port, head(`GET ${target} HTTP/1.1`, 'Connection: close'));
      expect([400, 404], `${target} ${text}`).toContain(parse(text).status);
    }
    for (const target of [
      'api/v1/websites',
      '/api/v1/web sites',
      '/api/v1/websites\tx',
      '/api/v1/websites?ü',
      '\\api',
    ]) {
      const { text, closed } = await raw(gateway.port, head(`GET ${target} HTTP/1.1`));
      expect(parse(text).status, target).toBe(400);
      expect(closed).toBe(true);
    }
  });
});

describe('HT-03 a target in absolute form', () => {
  const ask = async (target: string, ...fields: string[]) => {
    const { text } = await raw(gateway.port, head(`GET ${target} HTTP/1.1`, ...fields, 'Connection: close'));
    const { status, body } = parse(text);
    return { status, body };
  };

  itOnce('HT-03 names what its path names, if its authority is Host', async () => {
    const plain = await ask('/api/v1/websites');
    expect(plain.status).toBe(200);
    for (const scheme of ['http', 'https', 'HTTP'])
      expect(await ask(`${scheme}://127.0.0.1/api/v1/websites`), scheme).toEqual(plain);
    expect((await ask('http://127.0.0.1/livez')).status).toBe(200);
    const query = await ask('http://127.0.0.1/api/v1/websites?unknown=1');
    expect([query.status, JSON.parse(query.body).errors[0].parameter]).toEqual([400, 'unknown']);
    for (const path of [
      '',
      '?x',
      '/',
      '/API/v1/websites',
      '//api/v1/websites',
      '/%61pi/v1/websites',
      '/x/../api/v1/websites',
    ])
      expect((await ask(`http://127.0.0.1${path}`)).status, path).toBe(
        (await ask(path.startsWith('/') ? path : `/${path}`)).status,
      );
  });

  itOnce('HT-03 with another authority, or without Host, it is 400', async () => {
    const others = [
      'evil.example',
      '127.0.0.1:80',
      'user@127.0.0.1',
      '127.0.0.1@evil.example',
      '127.0.0.2',
      '127.0.0.1.',
    ];
    for (const authority of others)
      for (const path of ['/api/v1/websites', '/livez', '/mcp']) {
        const { status, body } = await ask(`http://${authority}${path}`);
        expect([status, JSON.parse(body).code], `${authority}${path}`).toEqual([400, 'invalid_request']);
      }
    const bare = `GET http://127.0.0.1/api/v1/websites HTTP/1.0\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    expect(parse((await raw(gateway.port, bare)).text).status).toBe(400);
    expect((await ask('http://127.0.0.1/api/v1/websites', 'Host: 127.0.0.1')).status, 'two of Host').toBe(400);
  });
});

describe('HT-04 smuggling', () => {
  const POST = 'POST /api/v1/websites HTTP/1.1';
  const smuggled = `${WEBSITES}\r\nHost: a\r\n\r\n`;
  const cases: [name: string, bytes: () => string][] = [
    ['CL and TE', () => `${head(POST, 'Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n${smuggled}`],
    ['TE and CL', () => `${head(POST, 'Transfer-Encoding: chunked', 'Content-Length: 5')}0\r\n\r\n${smuggled}`],
    ['two equal CL', () => `${head(POST, 'Content-Length: 5', 'Content-Length: 5')}hello${smuggled}`],
    ['two different CL', () => `${head(POST, 'Content-Length: 0', 'Content-Length: 5')}hello${smuggled}`],
    ['CL list', () => `${head(POST, 'Content-Length: 5, 5')}hello${smuggled}`],
    ['CL +5', () => `${head(POST, 'Content-Length: +5')}hello${smuggled}`],
    ['CL -1', () => `${head(POST, 'Content-Length: -1')}${smuggled}`],
    ['CL 0x5', () => `${head(POST, 'Content-Length: 0x5')}hello${smuggled}`],
    ['CL 2^64', () => `${head(POST, 'Content-Length: 18446744073709551616')}${smuggled}`],
    ['empty CL', () => `${head(POST, 'Content-Length:')}${smuggled}`],
    ['xchunked', () => `${head(WEBSITES, 'Transfer-Encoding: xchunked')}0\r\n\r\n${smuggled}`],
    ['chunked, identity', () => `${head(WEBSITES, 'Transfer-Encoding: chunked, identity')}0\r\n\r\n${smuggled}`],
    ['two TE', () => `${head(WEBSITES, 'Transfer-Encoding: chunked', 'Transfer-Encoding: x')}0\r\n\r\n${smuggled}`],
    ['TE after a space', () => `${head(WEBSITES, 'Transfer-Encoding : chunked')}0\r\n\r\n${smuggled}`],
    ['TE with VT', () => `${head(WEBSITES, 'Transfer-Encoding: \x0bchunked')}0\r\n\r\n${smuggled}`],
    ['obs-fold', () => `${head(WEBSITES, 'X-A: b', ' c: d')}${smuggled}`],
    ['obs-fold with tab', () => `${head(WEBSITES, 'X-A: b', '\tc: d')}${smuggled}`],
    ['bare LF', () => `${head(WEBSITES).replaceAll('\r\n', '\n')}${smuggled}`],
    ['one bare LF', () => `${head(WEBSITES, 'X-A: b\nX-C: d')}${smuggled}`],
    ['bare CR', () => `${head(WEBSITES, 'X-A: b\rX-C: d')}${smuggled}`],
    ['NUL in a header', () => `${head(WEBSITES, 'X-A: b\0c')}${smuggled}`],
    ['space in a name', () => `${head(WEBSITES, 'X A: b')}${smuggled}`],
    ['no colon', () => `${head(WEBSITES, 'X-A')}${smuggled}`],
    [
      'chunk size of 20 digits',
      () => `${head(WEBSITES, 'Transfer-Encoding: chunked')}${'f'.repeat(20)}\r\n${smuggled}`,
    ],
    ['chunk size +5', () => `${head(WEBSITES, 'Transfer-Encoding: chunked')}+5\r\nhello\r\n0\r\n\r\n${smuggled}`],
    [
      'chunk extension overflow',
      () => `${head(WEBSITES, 'Transfer-Encoding: chunked')}5;${'x'.repeat(40_000)}\r\nhello\r\n0\r\n\r\n${smuggled}`,
    ],
    ['a good chunked body', () => `${head(WEBSITES, 'Transfer-Encoding: chunked')}5\r\nhello\r\n0\r\n\r\n${smuggled}`],
    ['HTTP/1.1 without Host', () => `${WEBSITES}\r\nConnection: close\r\n\r\n`],
    ['HTTP/2 preface', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['TLS hello', () => '\x16\x03\x01\x02\x00\x01'],
    ['HTTP/9.9', () => head('GET /api/v1/websites HTTP/9.9')],
  ];

  itOnce.each(cases)('HT-04 %s: 400 once, then closed', async (_, bytes) => {
    const { text, closed } = await raw(gateway.port, bytes());
    expect(parse(text).status, text).toBe(400);
    expect(closed).toBe(true);
  });

  itOnce('HT-04 rubbish behind a whole request never takes the place of its answer', async () => {
    for (let i = 0; i < 20; i++) {
      const { text, closed } = await raw(gateway.port, `${head(WEBSITES)}RUBBISH\r\n\r\n`);
      expect(closed).toBe(true);
      if (text !== '') expect(text).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  itOnce('HT-04 pipelined requests are answered in their order', async () => {
    const lines = ['/api/v1/websites', '/livez', '/api/v1/context', '/nothing'].map((path, i) =>
      head(`GET ${path} HTTP/1.1`, ...(i === 3 ? ['Connection: close'] : [])),
    );
    const { text } = await raw(gateway.port, lines.join(''), { patience: 3_000 });
    expect(text.match(/HTTP\/1\.1 [0-9]+/g)).toEqual(
      ['200', '200', '200', '404'].map((status) => `HTTP/1.1 ${status}`),
    );
    expect(text.indexOf('"websites"')).toBeLessThan(text.indexOf('"live"'));
    expect(text.indexOf('"live"')).toBeLessThan(text.indexOf('"principal"'));
  });

  itOnce('HT-04 headers over 16 KiB are refused', async () => {
    const { text, closed } = await raw(gateway.port, head(WEBSITES, `X-A: ${'x'.repeat(20_000)}`));
    expect(parse(text).status).toBe(431);
    expect(closed).toBe(true);
  });
});

const SHORT: Timeouts = {
  headersTimeout: 600,
  requestTimeout: 1_200,
  keepAliveTimeout: 500,
  connectionsCheckingInterval: 100,
  timeout: 1_500,
  reply: 2_500,
};

/** Each reply has 48 MiB. Two unread replies are more than the server may keep in total. */
const LARGE = Buffer.alloc(48 * 1024 * 1024, 120);
const large: RequestHandler = (request, response) => {
  if (request.url !== '/large') return false;
  response.end(LARGE);
  return true;
};
/** A client that asks for the large reply and reads nothing, until the test lets it. */
function pausedReader(port: number): Socket {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => undefined); // the test waits until the gateway cuts the socket
  socket.pause();
  socket.write(head('GET /large HTTP/1.1'));
  return socket;
}

describe('HT-05 slow clients', () => {
  itOnce(
    'HT-05 slow headers, slow bodies and silent sockets are cut; a good client is served meanwhile (F-17)',
    async () => {
      const { port } = await serverWith(SHORT);
      const agent = new Agent({ keepAlive: true, maxSockets: 4 });
      const good = async (rounds: number): Promise<number[]> => {
        const times: number[] = [];
        for (let i = 0; i < rounds; i++) {
          const began = performance.now();
          expect(await statusOf(port, '/api/v1/websites', { authorization: `Bearer ${token}` }, agent)).toBe(200);
          times.push(performance.now() - began);
          await sleep(5);
        }
        return times.sort((a, b) => a - b);
      };
      await good(50);
      const slow = [
        ...Array.from({ length: 100 }, () => raw(port, head(WEBSITES), { drip: 100, patience: 6_000 })),
        ...Array.from({ length: 100 }, () =>
          raw(port, head('GET /nothing HTTP/1.1', 'Content-Length: 900'), { patience: 6_000 }),
        ),
        ...Array.from({ length: 300 }, () => raw(port, '', { patience: 6_000 })),
      ];
      const times = await good(100);
      const cut = await Promise.all(slow);
      agent.destroy();
      expect(cut.filter(({ closed }) => !closed)).toHaveLength(0);
      expect(Math.max(...cut.map(({ ms }) => ms))).toBeLessThan(5_000);
      for (const { text } of cut.slice(0, 100)) expect(parse(text).status).toBe(408);
      // The limit is high, because other programs can slow the machine. If slow clients delayed the server, the time
      // would be much longer.
      expect(times[Math.floor(times.length * 0.9)]).toBeLessThan(500);
    },
  );

  itOnce.concurrent('F-17 readers that take nothing are cut off, and what they hold is bounded', async () => {
    const { port, held } = await serverWith(SHORT, [large]);
    const sockets = Array.from({ length: 5 }, () => pausedReader(port));
    await expect.poll(() => held().requests).toBeGreaterThan(0);
    expect(await statusOf(port, '/api/v1/websites', { authorization: `Bearer ${token}` })).toBe(200);
    await expect.poll(() => held().connections, { timeout: 8_000 }).toBe(0);
    // Each client must get only what was sent before the cut, and then the end of the connection.
    const taken = await Promise.all(
      sockets.map(
        (socket) =>
          new Promise<number>((resolve) => {
            let bytes = 0;
            socket.on('data', (part: Buffer) => {
              bytes += part.length;
            });
            socket.on('close', () => resolve(bytes));
            socket.resume();
          }),
      ),
    );
    for (const bytes of taken) expect(bytes).toBeLessThan(LARGE.length);
  });

  itOnce.concurrent('F-17 a reply is taken within a time, however steadily its reader sips', async () => {
    const { port, held } = await serverWith(SHORT, [large]);
    const socket = pausedReader(port);
    // Read a little all the time, so that the timeout for silent connections never applies.
    const sipping = setInterval(() => socket.read(300_000), 20);
    await expect.poll(() => held().requests).toBe(1);
    const began = performance.now();
    await expect.poll(() => held().requests, { timeout: 8_000 }).toBe(0);
    expect(performance.now() - began).toBeGreaterThan(1_500);
    clearInterval(sipping);
    socket.destroy();
  });

  itOnce.concurrent('HT-05 an idle connection is closed after the keep-alive time, a working one is not', async () => {
    const { port } = await serverWith(SHORT);
    const { closed, ms, text } = await raw(port, head(WEBSITES), { patience: 6_000 });
    expect(parse(text).status).toBe(200);
    expect(closed).toBe(true);
    expect(ms).toBeGreaterThan(400);
  });

  itOnce.concurrent(
    'HT-05 an idle connection of a trusted proxy stays open until the proxy has closed it',
    async () => {
      const times = { ...SHORT, proxyKeepAliveTimeout: 2_500 };
      const trusting = { trustedProxies: ['127.0.0.1'] };
      const { port } = await serverWith(times, [], trusting);
      const { closed, ms, text } = await raw(port, head(WEBSITES), { patience: 6_000 });
      expect(parse(text).status).toBe(200);
      expect(closed).toBe(true);
      expect(ms).toBeGreaterThan(2_400);
      // After a pause, the connection has the usual timeouts again.
      const patient = await serverWith({ ...SHORT, proxyKeepAliveTimeout: 60_000 }, [], trusting);
      const socket = connect({ host: '127.0.0.1', port: patient.port }).setEncoding('utf8');
      let got = '';
      socket.on('data', (part) => {
        got += part;
      });
      socket.write(head(WEBSITES));
      await sleep(2_000);
      expect(got).toMatch('"websites"');
      socket.write('GET /livez HTTP/1.1\r\n');
      const began = performance.now();
      await once(socket, 'close');
      expect(got).toMatch('HTTP/1.1 408');
      expect(performance.now() - began).toBeLessThan(3_500);
    },
  );

  itOnce('counts connections beyond a limit, and requests that an unknown proxy has passed on', async () => {
    const forwarded = { 'X-Forwarded-For': '192.0.2.7' };
    const trusting = await serverWith(PATIENT, [], { trustedProxies: ['127.0.0.1'] });
    for (const { port } of [trusting, trusting]) expect(await statusOf(port, '/livez', forwarded)).toBe(200);
    expect(trusting.held()).toMatchObject({ untrusted: 0, refused: 0 });
    for (const [connections, refused] of [
      [{ inAll: 100, perNetwork: 1 }, 2],
      [{ inAll: 1, perNetwork: 100 }, 2],
    ] as const) {
      const { port, held } = await serverWith(PATIENT, [], { connections });
      const socket = connect({ host: '127.0.0.1', port });
      await once(socket, 'connect');
      await expect.poll(() => held().connections).toBe(1);
      for (let n = 0; n < refused; n++) await expect(statusOf(port, '/livez', {})).rejects.toThrow();
      expect(held().refused).toBe(refused);
      socket.write(head('GET /livez HTTP/1.1', 'X-Forwarded-For: 192.0.2.7'));
      await expect.poll(() => held().untrusted).toBe(1);
      socket.destroy();
    }
  });

  itOnce(
    'F-18 closing: the request under way is answered with Connection: close, and nothing holds the server open',
    async () => {
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const slow: RequestHandler = (request, response) => {
        if (request.url !== '/held') return false;
        void held.then(() => response.end('done'));
        return true;
      };
      const server = await serverWith(PATIENT, [slow]);
      const underWay = raw(server.port, head('GET /held HTTP/1.1'), { patience: 5_000 });
      await expect.poll(() => server.held().requests).toBe(1);
      const idle = raw(server.port, head(WEBSITES), { patience: 5_000 });
      await expect.poll(() => [server.held().connections, server.held().requests]).toEqual([2, 1]);
      const began = performance.now();
      const closed = server.close();
      await expect
        .poll(() => statusOf(server.port, '/livez', {}).catch(String), { interval: 5 })
        .toMatch('ECONNREFUSED');
      release();
      const { text } = await underWay;
      expect(parse(text).headers.get('connection')).toBe('close');
      expect((await idle).closed).toBe(true);
      await closed;
      expect(performance.now() - began).toBeLessThan(2_000);
    },
  );

  itOnce('F-18 leaving: who has connected and was not accepted yet is answered, not reset', async () => {
    const server = await serverWith(PATIENT);
    // The kernel accepts all connections before Node handles the first one, so the gateway gets many connections at
    // once.
    const connecting = Array.from({ length: 20 }, () => raw(server.port, head(WEBSITES), { patience: 5_000 }));
    await server.leave();
    const answers = await Promise.all(connecting);
    expect(answers.map(({ text }) => parse(text).status)).toEqual(Array(20).fill(200));
    await expect(statusOf(server.port, '/livez', {})).rejects.toThrow('ECONNREFUSED');
  });
});

const statusOf = async (
  port: number,
  path: string,
  headers: Record<string, string>,
  agent: Agent | false = false,
): Promise<number> => (await exchange({ port, path, headers, agent })).status;

describe('HT-06 bodies', () => {
  itOnce('HT-06 no read takes one: 400 and closed, whatever its length, framing, coding or expectation', async () => {
    for (const { tool, url } of calls.filter((one) => one.tool.effect === 'read')) {
      const { text, closed } = await raw(gateway.port, head(`GET ${url} HTTP/1.1`, 'Content-Length: 1000000000'));
      expect(parse(text).status, tool.name).toBe(400);
      expect(closed, tool.name).toBe(true);
    }
    for (const path of ['/api/v1/websites', '/livez', '/readyz', '/api/v1/openapi.json']) {
      for (const fields of [
        ['Content-Length: 2', 'Content-Type: application/json'],
        ['Content-Length: 2', 'Content-Encoding: gzip'],
        ['Content-Length: 2', 'Content-Encoding: br'],
        ['Content-Length: 2', 'Expect: 100-continue'],
        ['Transfer-Encoding: chunked'],
        ['Transfer-Encoding: gzip, chunked'],
      ]) {
        const { text, closed } = await raw(gateway.port, head(`GET ${path} HTTP/1.1`, ...fields));
        const { status, headers, body } = parse(text);
        expect(status, `${path} ${fields}`).toBe(400);
        expect(JSON.parse(body)).toMatchObject({ code: 'invalid_request', request_id: headers.get('x-request-id') });
        expect(closed).toBe(true);
      }
    }
  });

  itOnce('HT-06 an empty body is none; an expectation is never met with 100 or a bare 417', async () => {
    for (const fields of [['Content-Length: 0'], ['Expect: 100-continue'], ['Expect: anything']]) {
      const { text } = await raw(gateway.port, head(WEBSITES, ...fields, 'Connection: close'));
      expect(parse(text).status, String(fields)).toBe(200);
    }
  });
});

itOnce('a document is made at its first request, and never again', async () => {
  const { port } = await serverWith(PATIENT);
  expect(made).toBe(0);
  for (let i = 0; i < 2; i++)
    expect((await exchange({ port, path: '/api/v1/openapi.json' })).body).toEqual({ made: 1 });
});

describe('HT-07 methods', () => {
  itOnce(
    'HT-07 every operation: wrong methods are 405 with Allow, before any token; HEAD is GET without a body',
    async () => {
      const paths = new Set(calls.map(({ tool }) => tool.path));
      expect(paths.size).toBeLessThan(calls.length);
      for (const path of paths) {
        const here = calls.filter(({ tool }) => tool.path === path);
        const methods = gateway.corridor.registry.tools.filter((tool) => tool.path === path).map((tool) => tool.method);
        const served = methods.includes('GET') ? [...methods, 'HEAD'] : methods;
        for (const method of [
          'GET',
          'HEAD',
          'POST',
          'PUT',
          'PATCH',
          'DELETE',
          'OPTIONS',
          'TRACE',
          'PROPFIND',
          'QUERY',
        ]) {
          if (served.includes(method)) continue;
          const url = here[0]?.url ?? '';
          const { status, headers, body } = await gateway.ask(url, { method });
          expect(status, `${method} ${url}`).toBe(405);
          expect(headers['allow']?.split(', ').sort()).toEqual([...served].sort());
          if (method !== 'HEAD') expect(body.code).toBe('method_not_allowed');
        }
      }
      for (const { tool, url } of calls.filter((one) => one.tool.effect === 'read')) {
        const [got, had] = [await gateway.ask(url, { token }), await gateway.ask(url, { token, method: 'HEAD' })];
        expect(had.status, tool.name).toBe(got.status);
        expect(had.text).toBe('');
        expect(had.headers['content-type']).toBe(got.headers['content-type']);
        // The answer of `health` contains times, so its length can change between two requests.
        if (tool.name !== 'health') expect(had.headers['content-length']).toBe(got.headers['content-length']);
        expect((await gateway.ask(url, { method: 'HEAD' })).status, tool.name).toBe(401);
      }
    },
  );

  itOnce('HT-07 documents and probes; CONNECT, unknown methods, OPTIONS *', async () => {
    for (const path of ['/livez', '/readyz', '/api/v1/openapi.json']) {
      const { status, headers } = await gateway.ask(path, { method: 'POST' });
      expect(status, path).toBe(405);
      expect(headers['allow']).toBe('GET, HEAD');
      expect((await gateway.ask(path, { method: 'HEAD' })).status, path).toBe(200);
    }
    const tunnel = parse((await raw(gateway.port, 'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n')).text);
    expect(tunnel.status).toBe(405);
    expect(tunnel.headers.get('allow')).toBe('GET, HEAD');
    expect(parse((await raw(gateway.port, head('BREW /livez HTTP/1.1'))).text).status).toBe(400);
    expect(parse((await raw(gateway.port, head('get /livez HTTP/1.1'))).text).status).toBe(400);
    expect(parse((await raw(gateway.port, head('OPTIONS * HTTP/1.1', 'Connection: close'))).text).status).toBe(404);
  });

  itOnce('HT-07 a method named in a header or parameter changes nothing', async () => {
    const answer = await gateway.ask('/api/v1/websites', { token, headers: { 'x-http-method-override': 'DELETE' } });
    expect(answer.status).toBe(200);
    expect((await gateway.ask('/api/v1/websites?_method=DELETE', { token })).status).toBe(400);
  });

  itOnce('HT-07 an offer to upgrade is ignored', async () => {
    const fields = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'];
    expect(parse((await raw(gateway.port, head(WEBSITES, ...fields))).text).status).toBe(200);
  });
});

describe('HT-08 singleton headers', () => {
  const twice: [name: string, value: () => string][] = [
    ['Authorization', () => `Bearer ${token}`],
    ['Host', () => '127.0.0.1'],
    ['Content-Type', () => 'application/json'],
    ['Idempotency-Key', () => 'k'],
    ['If-Match', () => '"0123456789abcdef"'],
    ['Origin', () => BASE_URL],
    ['If-Range', () => '"0123456789abcdef"'],
    ['Range', () => 'bytes=0-1'],
    ['A2A-Version', () => '1.0'],
  ];

  it.each(twice)('HT-08 two of %s are 400 on every operation, whether equal or not', async (name, value) => {
    for (const call of chosen) {
      const { tool } = call;
      const second = calls.indexOf(call) % 2 === 0 ? value() : 'other';
      const own = ['Host', 'Authorization', ...(call.body ? ['Content-Type', 'Idempotency-Key'] : [])];
      const already = own.includes(name) ? [] : [`${name}: ${value()}`];
      const fields = [...already, `${name.toUpperCase()}: ${second}`, 'Connection: close'];
      const bytes = bytesOf(call, `Authorization: Bearer ${token}`, ...fields);
      const { status, body } = parse((await raw(gateway.port, bytes)).text);
      expect(status, `${tool.name} ${name}`).toBe(400);
      expect(JSON.parse(body)).toMatchObject({
        code: 'duplicate_parameter',
        errors: [{ parameter: name.toLowerCase(), code: 'duplicate_parameter' }],
      });
    }
  });

  itOnce('HT-08 documents and probes refuse them too', async () => {
    for (const path of ['/livez', '/readyz', '/api/v1/openapi.json']) {
      const { text } = await raw(gateway.port, head(`GET ${path} HTTP/1.1`, 'Host: b', 'Connection: close'));
      expect(parse(text).status, path).toBe(400);
    }
  });

  itOnce('HT-08 a list header may be split over two lines', async () => {
    const fields = ['Accept: text/html', 'Accept: application/json', 'Connection: close'];
    expect(parse((await raw(gateway.port, head(WEBSITES, ...fields))).text).status).toBe(200);
  });
});

describe('HT-09 raw bytes', () => {
  let url: string;
  let size: number;
  let version: string;
  let whole: Buffer;
  const BYTES = 'application/octet-stream';
  const bytes = (headers: Record<string, string>) =>
    gateway.ask(url, { token, headers: { accept: BYTES, ...headers } });

  beforeAll(async () => {
    const call = calls.find(({ tool }) => tool.name === 'file_content');
    url = call?.url ?? '';
    const { body } = await gateway.ask(url, { token });
    ({ total_size: size, version } = body.data);
    whole = Buffer.from(body.data.content, 'base64');
    expect(size).toBe(whole.length);
    expect(createHash('sha256').update(whole).digest('hex')).toBe(body.data.sha256);
  });

  itOnce('HT-09 one range is 206 with Content-Range, digest and version of exactly those bytes', async () => {
    const last = size - 1;
    for (const [range, first, end] of [
      ['bytes=0-0', 0, 0],
      ['bytes=0-', 0, last],
      ['Bytes=1-4', 1, 4],
      [`bytes=${last}-`, last, last],
      ['bytes=-1', last, last],
      ['bytes=-5', size - 5, last],
      [`bytes=-${size + 7}`, 0, last],
      [`bytes=2-${size + 100}`, 2, last],
      [`bytes=${last}-9007199254740991`, undefined, undefined],
    ] as const) {
      const answer = await bytes({ range });
      if (first === undefined) {
        expect(answer.status, range).toBe(416);
        continue;
      }
      const part = whole.subarray(first, end + 1);
      expect(answer.status, `${range} ${answer.text}`).toBe(206);
      expect(answer.bytes.equals(part), range).toBe(true);
      expect(answer.headers['content-range']).toBe(`bytes ${first}-${end}/${size}`);
      expect(answer.headers['content-digest']).toBe(`sha-256=:${createHash('sha256').update(part).digest('base64')}:`);
      expect(answer.headers['etag']).toBe(`"${version}"`);
      expect(answer.headers['x-gateway-file-version']).toBe(version);
      expect(answer.headers['content-disposition']).toMatch(/^attachment/);
      expect(answer.headers['cache-control']).toBe('no-store');
    }
  });

  itOnce(
    'HT-09 reversed, outside or too long is 416 with the size; several, other units and no number are 400',
    async () => {
      for (const range of ['bytes=5-2', `bytes=${size}-`, 'bytes=-0', 'bytes=0-65536', 'bytes=9999999999999999-']) {
        const answer = await bytes({ range });
        expect(answer.status, range).toBe(416);
        expect(answer.headers['content-range']).toBe(`bytes */${size}`);
        expect(answer.body.code).toBe('range_not_satisfiable');
      }
      for (const range of [
        ...['bytes=0-1,3-4', 'bytes=0-1, 3-4', 'items=0-1', 'bytes', 'bytes=', 'bytes=-', 'bytes=a-b', 'bytes=0--1'],
        ...['bytes=-1-2', 'bytes=+0-1', 'bytes=0x0-1', 'bytes=1e2-', 'bytes = 0-1', 'bytes=0-1;x'],
        'bytes=99999999999999999-',
      ]) {
        const answer = await bytes({ range });
        expect(answer.status, range).toBe(400);
        expect(answer.body.errors).toMatchObject([{ parameter: 'range', code: 'invalid_parameter' }]);
      }
    },
  );

  itOnce('HT-09 HT-10 If-Match: current 206, stale 412, weak, list, star and unquoted 400', async () => {
    expect((await bytes({ 'if-match': `"${version}"` })).status).toBe(206);
    const stale = await bytes({ 'if-match': `"${'0'.repeat(version.length)}"` });
    expect(stale.status).toBe(412);
    expect(stale.body.code).toBe('precondition_failed');
    for (const match of [
      ...[`W/"${version}"`, `"${version}", "x"`, '*', version, '""', `"${version.toUpperCase()}X"`, '"'],
    ]) {
      const answer = await bytes({ 'if-match': match });
      expect(answer.status, match).toBe(400);
      expect(answer.body.errors).toMatchObject([{ parameter: 'if-match', code: 'invalid_parameter' }]);
    }
    const other = `version=${'0'.repeat(version.length)}`;
    const conflict = await gateway.ask(withQuery(url, other), { token, headers: { accept: BYTES } });
    expect(conflict.status).toBe(409);
    expect((await gateway.ask(withQuery(url, other), { token })).status).toBe(409);
  });

  itOnce('HT-09 If-Range: with another validator than the version, the range does not count', async () => {
    const without = await bytes({});
    expect(without.bytes.equals(whole)).toBe(true);
    for (const range of ['bytes=1-4', 'bytes=-5', `bytes=${size}-`]) {
      const current = await bytes({ range, 'if-range': `"${version}"` });
      const alone = await bytes({ range });
      expect(current.status, range).toBe(alone.status);
      expect(current.headers['content-range'], range).toBe(alone.headers['content-range']);
      for (const other of [
        ...[`"${'0'.repeat(version.length)}"`, `W/"${version}"`, version, `"${version}", "x"`, '*', ''],
        'Mon, 30 Nov 2026 12:00:00 GMT',
      ]) {
        const answer = await bytes({ range, 'if-range': other });
        expect(answer.status, `${range} ${other} ${answer.text}`).toBe(without.status);
        expect(answer.bytes.equals(whole), `${range} ${other}`).toBe(true);
        expect(answer.headers['content-range']).toBe(without.headers['content-range']);
        expect(answer.headers['etag']).toBe(`"${version}"`);
      }
    }
    const stale = await bytes({ range: 'bytes=1-4', 'if-range': '"x"', 'if-match': `"${'0'.repeat(version.length)}"` });
    expect(stale.status).toBe(412);
    expect((await gateway.ask(url, { token, headers: { 'if-range': '"x"' } })).status).toBe(200);
  });

  itOnce('HT-09 every chunk and range together are the stored file', async () => {
    const rows = await gateway.database.sql<{ id: string; size: string; bytes: Buffer }[]>`
      SELECT f.id, f.size, string_agg(c.bytes, '' ORDER BY c.chunk) AS bytes FROM platform.file f
        JOIN platform.message m ON m.tenant = f.tenant AND m.site = f.site AND m.id = f.message_id
        JOIN platform.file_chunk c ON c.tenant = f.tenant AND c.site = f.site AND c.file_id = f.id
       WHERE f.tenant = 1 AND f.site = 1 AND m.visibility = 'public' GROUP BY f.tenant, f.site, f.id ORDER BY f.size DESC LIMIT 3`;
    expect(rows.length).toBe(3);
    for (const row of rows) {
      const path = `/api/v1/files/fil_1_1_${row.id}/content`;
      const parts: Buffer[] = [];
      for (let at = 0; at < Number(row.size); at += 50_000) {
        const range = `bytes=${at}-${at + 49_999}`;
        parts.push((await gateway.ask(path, { token, headers: { accept: BYTES, range } })).bytes);
      }
      expect(Buffer.concat(parts).equals(row.bytes)).toBe(true);
    }
  });

  it('HT-09 Accept: what cannot be sent is 406 on every operation; JSON unless bytes are preferred', async () => {
    const refused = [
      ...['text/html', 'application/xml, text/*', 'application/json;q=0', 'rubbish', 'a/b/c', ';;;'],
      ...['application/json; charset=utf-8; q=0', 'application/json; version=1', 'text/html; charset=utf-8'],
    ];
    const taken = [
      ...['application/json', '*/*', 'text/html, */*;q=0.1', 'application/*', ''],
      ...[
        'application/json; charset=utf-8',
        'Application/JSON ;Charset="UTF-8" ; q=0.5',
        'a/b, application/json;charset=x',
      ],
    ];
    for (const [i, call] of chosen.entries()) {
      const { tool, url: other } = call;
      const ask = (accept: string) => gateway.ask(other, requestOf(call, { token, headers: { accept } }));
      // The operation with bytes and two others get all headers. The rest get one of each kind, in turn.
      const all = i < 2 || tool.bytes;
      const some = (values: readonly string[]) => (all ? values : [values[i % values.length] ?? '']);
      for (const accept of [...some(refused), ...(tool.bytes ? [] : ['application/octet-stream'])])
        expect((await ask(accept)).status, `${tool.name} ${accept}`).toBe(406);
      for (const accept of some(taken)) {
        const answer = await ask(accept);
        expect(answer.headers['content-type'], `${tool.name} ${accept}`).toMatch(/^application\/(problem\+)?json$/);
        expect(answer.status, `${tool.name} ${accept}`).not.toBe(406);
      }
    }
    const raw = await bytes({
      accept: 'application/json;charset=utf-8;q=0.5, application/octet-stream; charset=binary',
    });
    expect(raw.headers['content-type']).toBe(BYTES);
  });
});

describe('HT-11 text', () => {
  itOnce(
    'HT-11 NUL and surrogates never reach the store; lengths are counted in code points, as JSON Schema does',
    async () => {
      for (const [path, name] of [
        [`/api/v1/contacts?website_id=${WEB}`, 'query'],
        [`/api/v1/conversations?website_id=${WEB}`, 'query'],
        [`/api/v1/settings/search?website_id=${WEB}`, 'query'],
      ] as const) {
        for (const text of [
          ...['%00', 'a%00', '%ED%A0%80', '%ED%BF%BF', '%ED%A0%BD%ED%B8%80', '%F4%90%80%80', '%80', '%FE'],
        ]) {
          const answer = await gateway.ask(`${path}&${name}=${text}`, { token });
          expect(answer.status, `${path} ${text}`).toBe(400);
        }
        for (const [text, status] of [
          ['x'.repeat(200), 200],
          ['x'.repeat(201), 400],
          ['😀'.repeat(200), 200],
          ['😀'.repeat(201), 400],
          ['\u2028\u202e\ufeff\uffff', 200],
          ['%_\\\'"', 200],
          ['', 400],
        ] as const) {
          const answer = await gateway.ask(`${path}&${name}=${encodeURIComponent(text)}`, { token });
          expect(answer.status, `${path} ${text.length} ${answer.text}`).toBe(status);
        }
      }
    },
  );
});

describe('HT-12 numbers', () => {
  it('HT-12 integers have one spelling: every other is 400 on every operation that takes one', async () => {
    let asked = 0;
    const wrong = [
      ...['1e2', '1.0', '-0', '-1', '+1', '01', '0x10', ' 1', '1 ', '1_0', '٣', 'NaN', 'Infinity', 'null', 'true'],
    ];
    const large = ['101', '9007199254740993', '9223372036854775808', '99999999999999999999', '1'.repeat(400)];
    for (const call of chosen) {
      const names = named(call, 'integer');
      for (const value of [...wrong, ...large, '0'].map(encodeURIComponent)) {
        // Only a limit has a minimum and a small maximum.
        const some = value === '0' || value === '101' ? names.filter((name) => name === 'limit') : names;
        if (some.length > 0)
          asked += await refusesEach(call, some, (name) => `${name}=${value}`, /^invalid_parameter$/);
      }
    }
    expect(asked).toBeGreaterThan(6 * chosen.length);
  });

  it('HT-12 booleans too', async () => {
    for (const call of chosen)
      for (const value of ['1', '0', 'yes', 'TRUE', 'True', '', 'null'])
        await refusesEach(call, named(call, 'boolean'), (name) => `${name}=${value}`);
  });

  it('HT-12 ids and cursors at and above 2^63-1 are 404 or 400 or an empty page, never 500', async () => {
    let asked = 0;
    for (const number of [
      '9223372036854775807',
      '9223372036854775808',
      '9999999999999999999',
      '99999999999999999999',
      '0',
      '01',
    ]) {
      for (const call of chosen) {
        const { tool, path, query } = call;
        for (const { name, id, in: place } of tool.parameters) {
          if (id === undefined && name !== 'website_id' && name !== 'cursor') continue;
          if (name === tool.asksAbout) continue; // its answer says that the website is not granted
          const kind = id ?? (tool.paged && 'prefix' in tool.paged.cursor ? tool.paged.cursor : undefined);
          const website = name === 'website_id';
          const prefix = website ? 'web' : (kind?.prefix ?? 'x');
          const last = website ? `web_1_${number}` : `${prefix}_1_1_${number}`;
          const others = website ? [`web_${number}_1`] : [`${prefix}_1_${number}_1`, `${prefix}_${number}_1_1`];
          // The other places get the two numbers at the limit.
          for (const value of number.startsWith('9223') ? [last, ...others] : [last]) {
            const at = tool.path.split('/').indexOf(`{${name}}`);
            const changed = path.split('/').map((segment, i) => (i === at ? value : segment));
            const pairs =
              place === 'query' ? [...query.filter(([key]) => key !== name), [name, value] as const] : query;
            const answer = await gateway.ask(
              `${changed.join('/')}${pairs.length ? '?' : ''}${pairs.map(([key, text]) => `${key}=${text}`).join('&')}`,
              requestOf(call, { token }),
            );
            expect([200, 400, 404], `${tool.name} ${name}=${value} ${answer.text}`).toContain(answer.status);
            if (place === 'path' || name === 'website_id') expect(answer.status, `${tool.name} ${value}`).not.toBe(200);
            asked++;
          }
        }
      }
    }
    expect(asked).toBeGreaterThan(8 * chosen.length);
  });
});
