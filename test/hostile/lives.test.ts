import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Issued, issue } from '../support/credentials.ts';
import { times } from '../support/form.ts';
import { bearer, Client, http, mcp, note, type Served, serve } from '../support/hostile/served.ts';
import { generator } from '../support/random.ts';

/**
 * Each life is one connection with a random sequence of requests. The requests use every surface. A request can be
 * pipelined, half-closed, reset, slow, upgraded or incomplete. Afterwards the gateway must hold no memory for any
 * request. The metrics, the log, the audit and the clients must agree on what happened.
 */
const LIVES = times(4_000, 1_000_000);
const AT_ONCE = 32;
const SEED = Number(process.env['TEST_SEED'] ?? 20_261_122);

let served: Served;
let caller: Issued;
beforeAll(async () => {
  served = await serve();
  caller = await issue(served.database.sql, 1, { authors: ['opr_1_1_3'] });
});
afterAll(() => served.close());

const JSON_TYPE = 'Content-Type: application/json';
const SOCKET = '/api/v1/realtime/sessions/rts_00000000000000000000000000000000/socket';
const handshake = (...fields: string[]): string[] => [
  ...['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Origin: https://a.example'],
  ...['Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==', ...fields],
];

let notes = 0;
const KINDS: readonly ((token: string) => string)[] = [
  (token) => http('GET /api/v1/context', [bearer(token)]),
  (token) => http('GET /api/v1/contacts/ctc_1_1_1', [bearer(token)]),
  (token) => http('GET /api/v1/conversations?website_id=web_1_1&limit=100', [bearer(token)]),
  (token) => http('GET /api/v1/conversations?website_id=web_1_1&query=a', [bearer(token)]),
  (token) => http('HEAD /api/v1/websites', [bearer(token)]),
  (token) => http('DELETE /api/v1/websites', [bearer(token)]),
  () => http('GET /api/v1/websites'),
  () => http('GET /api/v1/websites', [bearer('nonsense')]),
  (token) => mcp(token, 'contact_get', { contact_id: 'ctc_1_1_1' }),
  (token) => mcp(token, 'no_such_tool', {}),
  (token) => http('POST /mcp', [bearer(token), JSON_TYPE, 'Accept: */*'], '{"jsonrpc":"2.0","method":"ping"}'),
  (token) => http('POST /mcp', [bearer(token), JSON_TYPE, 'Accept: */*'], 'rubbish'),
  (token) =>
    http(
      'POST /a2a',
      [bearer(token), JSON_TYPE, 'A2A-Version: 1.0'],
      '{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}',
    ),
  () => http('POST /oauth/token', ['Content-Type: application/x-www-form-urlencoded'], 'grant_type=client_credentials'),
  () => http('GET /oauth/authorize?client_id=x'),
  () => http('GET /livez'),
  () => http('GET /llms-full.txt'),
  () => http('GET /nothing/here'),
  (token) => note(token, `life ${++notes}`),
  () => http('GET /livez', ['Connection: Upgrade', 'Upgrade: h2c']),
];
/** The last bytes of a connection: an incomplete request, or a request after which the server closes the connection. */
const ENDS: readonly ((token: string) => string)[] = [
  () => 'rubbish\r\n\r\n',
  () => 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
  () => 'GET /livez\r\n\r\n',
  () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  () => http(`GET ${SOCKET}`, handshake()),
  () => http(`GET ${SOCKET}`, handshake(`Sec-WebSocket-Protocol: igw.realtime.v1, ticket.${'A'.repeat(43)}`)),
  () =>
    http(
      'GET /livez',
      Array.from({ length: 150 }, (_, i) => `X-${i}: 1`),
    ),
  (token) => http('POST /mcp', [bearer(token), JSON_TYPE, 'Content-Length: 900', 'Accept: */*']),
  () => 'GET /api/v1/websites HTTP/1.1\r\nHost: a\r\n',
  // The gateway answers this request as soon as it has the head of the request. The body that follows is malformed.
  () => `${http('POST /nothing', ['Transfer-Encoding: chunked'])}5\r\nhello\r\nZZ\r\n`,
];

/** Returns the answers that the client got. Throws when there are more answers than requests. */
async function live(random: () => number): Promise<{ status: number; id: string }[]> {
  let asked = 0;
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] ?? expect.fail('nothing to pick');
  const client = new Client(served.port);
  const { socket } = client;
  if (random() < 0.15) socket.pause();
  const acts = 1 + Math.floor(random() * 4);
  for (let act = 0; act < acts && !socket.destroyed; act++) {
    const chance = random();
    const requests = chance < 0.7 ? 1 : chance < 0.97 ? 2 + Math.floor(random() * 5) : 12;
    let bytes = Array.from({ length: requests }, () => pick(KINDS)(caller.token)).join('');
    asked += requests;
    if (random() < 0.12) {
      bytes += pick(ENDS)(caller.token);
      asked++;
    }
    if (random() < 0.1) {
      const cut = Math.floor(random() * bytes.length);
      client.write(bytes.slice(0, cut));
      await pause(random() * 20);
      bytes = bytes.slice(cut);
    }
    client.write(bytes);
    const then = random();
    if (then < 0.5) await pause(random() * 40);
    else if (then < 0.6) socket.resetAndDestroy();
    else if (then < 0.65) socket.end();
    else if (then < 0.7) socket.resume();
  }
  const last = random();
  if (last < 0.25) socket.resetAndDestroy();
  else {
    if (last < 0.4) socket.end();
    socket.resume();
    const until = performance.now() + 1_000;
    while (client.received === '' && !socket.destroyed && performance.now() < until) await pause(5);
    await Promise.race([client.closed, pause(random() * 30)]);
    socket.destroy();
  }
  const answers = client.answers();
  if (answers.length > asked) throw new Error(`${answers.length} answers to ${asked} requests: ${client.received}`);
  return answers;
}

it(`after ${LIVES} lives of connections the budgets are empty and the books agree`, async ({ task }) => {
  const random = generator(SEED);
  const before = served.rss();
  const seen: { status: number; id: string }[] = [];
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < LIVES) {
      begun++;
      seen.push(...(await live(generator(Math.floor(random() * 2 ** 31)))));
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const took = performance.now() - began;
  await served.quiet(120);
  const requests = () => served.lines().filter(({ msg, operation }) => msg === 'request' && operation !== 'metrics');
  const counted = async (): Promise<number> =>
    [...(await served.metrics()).matchAll(/^gateway_requests_total\{([^}]*)\} (\d+)$/gm)].reduce(
      (sum, [, labels = '', n]) => (labels.includes('operation="metrics"') ? sum : sum + Number(n)),
      0,
    );
  // Each request that the gateway started has exactly one log line and counts once in the metrics, which are computed at
  // most once a second.
  await expect.poll(async () => (await counted()) - requests().length, { interval: 200 }).toBe(0);
  const lines = requests();
  const byId = new Map(lines.map((line) => [line.request_id, line]));
  const [written] = await served.database.sql<{ notes: number }[]>`
    SELECT count(*)::integer AS notes FROM platform.note WHERE text LIKE 'life %'`;
  const audited = lines.filter(({ operation, audit }) => operation === 'visitor_note_add' && audit === 'write');
  const done = audited.filter(({ decision, replayed }) => decision === 'allowed' && replayed !== true);
  task.meta.shown = { doubles: lines.length - byId.size, missed: seen.filter(({ id }) => !byId.has(id)).length };
  const grown = served.rss() - before;
  const unfinished = lines.filter((line) => line.unfinished === true).length;
  console.log(
    `lives ${LIVES}, seed ${SEED}: ${lines.length} requests, ${seen.length} answers seen, ${unfinished} unfinished,`,
    `${written?.notes} notes, resident memory ${before.toFixed(0)} MB +${grown.toFixed(0)}`,
  );
  // Each write also has one audit record.
  expect(lines.length - byId.size).toBe(0);
  expect(seen.filter(({ id, status }) => byId.get(id)?.status !== status)).toEqual([]);
  expect(done.map(({ operation_id }) => operation_id).sort()).toHaveLength(written?.notes ?? -1);
  expect(lines.filter(({ operation }) => operation === 'visitor_note_add')).toHaveLength(audited.length);
  // On a busy machine, more clients leave before their answer comes. A life takes 4 ms on a quiet one (29 November 2026).
  expect(seen.length).toBeGreaterThan(took < 8 * LIVES ? LIVES / 2 : LIVES / 5);
  expect(unfinished).toBeGreaterThan(LIVES / 50);
  expect(written?.notes).toBeGreaterThan(LIVES / 50);
  expect(lines.filter(({ status }) => status >= 500)).toEqual([]);
  expect(grown).toBeLessThan(150);
}, 3_600_000);
