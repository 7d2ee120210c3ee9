import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import postgres from 'postgres';
import { WebSocket } from 'ws';
import { packageRoot } from '../../src/config/package.ts';
import { openEmbedded } from '../../src/store/embedded/embedded.ts';
import { issue } from '../support/credentials.ts';
import { mapAuthors, websitesForNotes } from './notes.ts';
import { start } from './processes.ts';
import { quantile } from './report.ts';

/**
 * `npm run build && node dist/test/bench/soak.js --minutes 2 --share 0.7` runs mixed operations against one gateway.
 * The program first measures the highest rate that the gateway reaches on this machine. The program then sends
 * `--share` of this rate for `--minutes` minutes. Requests start by the clock, even when earlier requests are late. The
 * latency of a request counts from the moment when the request was due. The program prints one summary line at the end.
 * The exit code is 1 when the gateway exceeds a limit.
 */
const BOUNDS = { errors: 0, readsP99: 100, writesP99: 250, descriptors: 16 };
/** Megabytes a minute. In a short run, one garbage collection more or less decides the slope. */
const SLOPE = { short: 1, long: 0.1 };
const LONG_MINUTES = 30;
/** Steps that may wait. A program with millions of them ends for want of memory. */
const BEHIND = 100_000;
/** Milliseconds after which other sockets take over, because a session lasts an hour. */
const SESSION = 50 * 60_000;
const PORT = 8794;
const ORIGIN = 'https://app.example';
const CONNECTIONS = 32;
const SOCKETS = 10;
/** Each installation may start 100 tasks in 15 minutes, so 1,000 installations are enough for 2,000 steps a second. */
const INSTALLATIONS = 1_000;
/**
 * Both times are seconds at full speed. WARM_UP comes before the measurement, because the gateway's use of memory grows
 * for two minutes. CAPACITY is the time in which the highest rate is measured. CAPACITY must be long, because the
 * memory of this machine is sometimes a quarter slower for some seconds.
 */
const WARM_UP = 90;
const CAPACITY = 30;

const { values: options } = parseArgs({
  options: { minutes: { type: 'string', default: '2' }, share: { type: 'string', default: '0.7' } },
});
const main = fileURLToPath(new URL('dist/src/main.js', packageRoot));
const print = (line: string): void => void process.stdout.write(`${line}\n`);

type Kind = 'read' | 'write';
interface Ask {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly holds: string;
}
interface Step {
  readonly name: string;
  readonly kind: Kind;
  run(): Promise<void>;
}

/**
 * Only an agent with a timeout heeds the server's `Keep-Alive: timeout=30` (Node 20.20). Without it, the gateway closes
 * idle sockets, and a request that starts at that moment fails with ECONNRESET.
 */
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, timeout: 60_000 });

function ask({ path, headers, body, holds }: Ask): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: PORT,
        path,
        agent,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          ...headers,
          ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode = 0 } = response;
          if (statusCode < 300 && text.includes(holds)) resolve(text);
          else reject(new Error(`${statusCode} ${text.slice(0, 200)}`));
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const rpc = (method: string, params: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

interface World {
  readonly token: string;
  readonly installations: readonly string[];
  readonly contact: string;
  readonly conversation: string;
  readonly visitors: readonly string[];
  readonly subscription: string;
  readonly cursor: string;
}

/**
 * Each round of the mix has twenty steps: eleven REST reads, four MCP calls, two pulls, two writes that are each sent
 * twice, and one task.
 */
function steps({
  token,
  installations,
  contact,
  conversation,
  visitors,
  subscription,
  ...first
}: World): readonly Step[] {
  const headers = { authorization: `Bearer ${token}` };
  let turn = 0;
  let { cursor } = first;
  const read = (name: string, path: string, holds: string): Step => ({
    name,
    kind: 'read',
    run: async () => void (await ask({ path, headers, holds })),
  });
  const call = rpc('tools/call', { name: 'contact_get', arguments: { contact_id: contact } });
  const mcp: Step = {
    name: 'MCP call',
    kind: 'read',
    run: async () => {
      const accept = 'application/json, text/event-stream';
      await ask({ path: '/mcp', headers: { ...headers, accept }, body: call, holds: '"isError":false' });
    },
  };
  const note: Step = {
    name: 'note, sent twice',
    kind: 'write',
    run: async () => {
      const path = `/api/v1/visitors/${visitors[turn++ % visitors.length]}/notes`;
      const keyed = { ...headers, 'idempotency-key': randomUUID() };
      const body = JSON.stringify({ text: 'A note of the soak.' });
      const [first, again] = [
        await ask({ path, headers: keyed, body, holds: '"success":true' }),
        await ask({ path, headers: keyed, body, holds: '"success":true' }),
      ];
      if (first !== again) throw new Error(`a retry was answered otherwise: ${first} ${again}`);
    },
  };
  const task: Step = {
    name: 'A2A task',
    kind: 'write',
    run: async () => {
      const bearer = `Bearer ${installations[turn++ % installations.length]}`;
      const data = { skill: 'contact_inspection', arguments: { contact_id: contact } };
      const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ data, mediaType: 'application/json' }] };
      const body = rpc('SendMessage', { message });
      await ask({
        path: '/a2a',
        headers: { authorization: bearer, 'a2a-version': '1.0' },
        body,
        holds: 'TASK_STATE_COMPLETED',
      });
    },
  };
  const pull: Step = {
    name: 'event pull',
    kind: 'read',
    run: async () => {
      const path = `/api/v1/events?subscription_id=${subscription}&after=${encodeURIComponent(cursor)}`;
      const { next_cursor } = JSON.parse(await ask({ path, headers, holds: '"next_cursor"' }));
      cursor = next_cursor;
    },
  };
  const one = read('contact', `/api/v1/contacts/${contact}`, '"contact"');
  const page = read('conversations page', '/api/v1/conversations?website_id=web_1_1', '"next_cursor"');
  const messages = read('messages page', `/api/v1/conversations/${conversation}/messages`, '"messages"');
  const context = read('context', '/api/v1/context', 'app_installation');
  const reads = [one, mcp, one, messages, mcp, context];
  return [...reads, note, page, pull, messages, ...reads, note, page, pull, task];
}

/**
 * The slope of y over x, computed as the median slope of all pairs of points (Theil and Sen). A single spike does not
 * change the median.
 */
function slope(points: readonly (readonly [number, number])[]): number {
  const all = points.flatMap(([x, y], i) => points.slice(i + 1).map(([x2, y2]) => (y2 - y) / (x2 - x)));
  return quantile(all, 0.5);
}

class Ledger {
  readonly times: Record<Kind, number[]> = { read: [], write: [] };
  readonly failures = new Map<string, number>();
  async take(step: Step, due: number): Promise<void> {
    try {
      await step.run();
      this.times[step.kind].push(performance.now() - due);
    } catch (error) {
      const what = `${step.name}: ${error instanceof Error ? error.message : String(error)}`;
      const before = this.failures.get(what) ?? 0;
      if (before === 0) print(`${new Date().toISOString()} ${what}`);
      this.failures.set(what, before + 1);
    }
  }
}

/**
 * Returns the steps per second at full speed. Each connection starts its next step as soon as it has the answer to its
 * last step.
 */
async function flatOut(mix: readonly Step[], seconds: number, ledger: Ledger): Promise<number> {
  const until = performance.now() + seconds * 1_000;
  let done = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < until) {
      const step = mix[done++ % mix.length];
      if (step) await ledger.take(step, performance.now());
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  return done / seconds;
}

/** Starts steps at fixed times, even when earlier steps are still running. */
async function paced(mix: readonly Step[], { rate, seconds }: { rate: number; seconds: number }, ledger: Ledger) {
  const began = performance.now();
  const under = new Set<Promise<void>>();
  for (let n = 0; n < rate * seconds; ) {
    const elapsed = performance.now() - began;
    if (under.size > BEHIND)
      throw new Error(
        `${under.size} steps wait after ${Math.round(elapsed / 60_000)} minutes: the machine is busy with other work`,
      );
    for (; n < (elapsed / 1_000) * rate; n++) {
      const step = mix[n % mix.length];
      if (!step) continue;
      const running: Promise<void> = ledger
        .take(step, began + (n * 1_000) / rate)
        .then(() => void under.delete(running));
      under.add(running);
    }
    await pause(1);
  }
  await Promise.all(under);
}

async function socketOf(token: string, subscription: string, lost: () => void): Promise<WebSocket> {
  const headers = { authorization: `Bearer ${token}`, origin: ORIGIN };
  const body = '{}';
  const session = JSON.parse(await ask({ path: '/api/v1/realtime/sessions', headers, body, holds: '"ticket"' }));
  const socket = new WebSocket(
    `ws://127.0.0.1:${PORT}/api/v1/realtime/sessions/${session.session_id}/socket`,
    [session.protocol, `ticket.${session.ticket}`],
    { origin: ORIGIN },
  );
  socket.on('message', (bytes) => {
    const frame = JSON.parse(String(bytes));
    if (frame.type === 'ready') socket.send(JSON.stringify({ type: 'attach', id: 1, subscription_id: subscription }));
    if (frame.type === 'page')
      socket.send(JSON.stringify({ type: 'ack', subscription_id: subscription, cursor: frame.next_cursor }));
    if (frame.type === 'error') lost();
  });
  socket.on('close', lost);
  socket.on('error', lost);
  return socket;
}

function endSockets(sockets: { readonly all: readonly WebSocket[]; ended: boolean }): void {
  sockets.ended = true;
  for (const socket of sockets.all) socket.terminate();
}

const files = (pid: number | undefined): number => readdirSync(`/proc/${pid}/fd`).length;

async function soak(): Promise<boolean> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-soak-'));
  const store = await openEmbedded({ dataDir, log: () => undefined });
  const env = { GATEWAY_DATA_DIR: dataDir, PORT: String(PORT), LOG_LEVEL: 'info' };
  const gateway = await start(main, ['serve'], env, 'pipe');
  const { stdout } = gateway.process;
  // Why the gateway has cut a connection, and what it complains of.
  if (stdout)
    createInterface(stdout).on(
      'line',
      (line) => /"reason":"(?!client")|"level":"(?:warn|error)"/.test(line) && print(line),
    );
  const { host, port, database, username } = store;
  const sql = postgres({ host, port, database, username, max: 1, onnotice: () => undefined });
  let sockets: { readonly all: WebSocket[]; ended: boolean } | undefined;
  let renewal: NodeJS.Timeout | undefined;
  try {
    const visitors = (await websitesForNotes(sql)).flat();
    const caller = await issue(sql, 1, { origins: [ORIGIN] });
    await mapAuthors(sql, caller.credential);
    const installations: string[] = [];
    while (installations.length < INSTALLATIONS) {
      installations.push((await issue(sql, 1, { app: caller.app })).token);
    }
    const [contact] = await sql`SELECT id FROM platform.contact WHERE tenant = 1 AND site = 1 AND NOT deleted LIMIT 1`;
    const [conversation] = await sql`SELECT conversation_id AS id FROM platform.message
      WHERE tenant = 1 AND site = 1 AND visibility = 'public' GROUP BY 1 ORDER BY count(*) DESC LIMIT 1`;
    await sql`ANALYZE`;
    const headers = { authorization: `Bearer ${caller.token}` };
    const definition = {
      website_ids: ['web_1_101', 'web_1_102'],
      event_types: ['visitor.*'],
      payload_mode: 'thin',
      delivery: { mode: 'pull' },
      start: 'retained',
    };
    const made = JSON.parse(
      await ask({ path: '/api/v1/subscriptions', headers, body: JSON.stringify(definition), holds: '"cursor"' }),
    );
    const subscription: string = made.subscription.subscription_id;
    let lost = 0;
    const openSockets = async (): Promise<NonNullable<typeof sockets>> => {
      const made = { all: [] as WebSocket[], ended: false }; // filled below
      for (let n = 0; n < SOCKETS; n++)
        made.all.push(await socketOf(caller.token, subscription, () => !made.ended && lost++));
      return made;
    };
    sockets = await openSockets();
    const renew = async (): Promise<void> => {
      const before = sockets;
      sockets = await openSockets();
      if (before) endSockets(before);
    };
    renewal = setInterval(() => void renew().catch(() => lost++), SESSION);
    const mix = steps({
      token: caller.token,
      installations,
      contact: `ctc_1_1_${contact?.['id']}`,
      conversation: `cnv_1_1_${conversation?.['id']}`,
      visitors,
      subscription,
      cursor: made.cursor,
    });
    const before = new Ledger();
    await flatOut(mix, WARM_UP, before);
    const capacity = await flatOut(mix, CAPACITY, before);
    const rate = capacity * Number(options.share);
    const seconds = Number(options.minutes) * 60;
    print(
      `capacity ${Math.round(capacity)} steps/s with ${CONNECTIONS} clients; ${Math.round(rate)}/s for ${seconds} s`,
    );
    const ledger = new Ledger();
    const samples: { at: number; rss: number; open: number }[] = [];
    const began = performance.now();
    const sampler = setInterval(() => {
      const at = (performance.now() - began) / 60_000;
      samples.push({ at, rss: gateway.rss(), open: files(gateway.process.pid) });
    }, 1_000);
    await paced(mix, { rate, seconds }, ledger);
    clearInterval(sampler);
    clearInterval(renewal);
    endSockets(sockets);
    const failures = [...before.failures, ...ledger.failures];
    for (const [what, count] of failures) print(`${count} × ${what}`);
    const errors = failures.reduce((sum, [, count]) => sum + count, 0) + lost;
    const [reads, writes] = [ledger.times.read, ledger.times.write];
    const rising = slope(samples.map(({ at, rss }) => [at, rss]));
    const open = samples.map((one) => one.open);
    const third = Math.ceil(open.length / 3);
    const grown = quantile(open.slice(-third), 0.5) - quantile(open.slice(0, third), 0.5);
    const kept =
      errors <= BOUNDS.errors &&
      quantile(reads, 0.99) < BOUNDS.readsP99 &&
      quantile(writes, 0.99) < BOUNDS.writesP99 &&
      rising < (Number(options.minutes) < LONG_MINUTES ? SLOPE.short : SLOPE.long) &&
      grown < BOUNDS.descriptors;
    const rss = samples.map((one) => one.rss);
    const tenth = (part: readonly number[]): string => quantile(part, 0.5).toFixed(0);
    print(
      `soak ${kept ? 'kept' : 'BROKEN'}: ${seconds} s at ${Math.round(rate)} steps/s, ${reads.length} reads p50 ${quantile(reads, 0.5).toFixed(1)} p99 ${quantile(reads, 0.99).toFixed(1)} ms, ` +
        `${writes.length} writes p50 ${quantile(writes, 0.5).toFixed(1)} p99 ${quantile(writes, 0.99).toFixed(1)} ms, ${errors} errors, ` +
        `RSS ${tenth(rss.slice(0, rss.length / 10))} MB in the first tenth, ${tenth(rss.slice(-rss.length / 10))} in the last (${rising.toFixed(3)} MB/min), ` +
        `descriptors ${Math.min(...open)} to ${Math.max(...open)} (${grown >= 0 ? '+' : ''}${grown}), ${SOCKETS} sockets, load ${loadavg()[0]?.toFixed(1)}`,
    );
    return kept;
  } finally {
    clearInterval(renewal);
    if (sockets) endSockets(sockets);
    agent.destroy();
    await sql.end();
    await gateway.stop();
    await store.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

process.exitCode = (await soak()) ? 0 : 1;
