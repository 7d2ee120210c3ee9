import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import postgres from 'postgres';
import { packageRoot } from '../../src/config/package.ts';
import { importFiles } from '../../src/sources/files/import.ts';
import { openDatabase } from '../../src/store/driver/postgres.ts';
import { type EmbeddedStore, openEmbedded } from '../../src/store/embedded/embedded.ts';
import { LEGACY, MODERN } from '../../src/surfaces/mcp/versions.ts';
import { issue } from '../support/credentials.ts';
import { allow } from './allow.ts';
import { approve } from './approve.ts';
import { audit } from './audit.ts';
import { cells, readLoad } from './cells.ts';
import { erasure } from './erasure.ts';
import { importing } from './import.ts';
import { indexes } from './indexes.ts';
import { journal } from './journal.ts';
import { mapAuthors, websitesForNotes } from './notes.ts';
import { benchClients } from './oauth.ts';
import { overview } from './overview.ts';
import { type Started, start } from './processes.ts';
import { pulls } from './pulls.ts';
import { realtime } from './realtime.ts';
import { recall } from './recall.ts';
import { judge, record } from './recorded.ts';
import { replica } from './replica.ts';
import { type Compared, median, tableRows, writeReport } from './report.ts';
import { LEAST_SIZE, scale } from './scale.ts';
import { search } from './search.ts';
import { CONNECTIONS, openShots, type Target } from './shots.ts';
import { sizes as rowSizes } from './sizes.ts';
import { tombstones } from './tombstones.ts';
import { webhooks } from './webhooks.ts';
import { workers } from './workers.ts';

const OURS = 8791;
const PEER = 8792;
const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    record: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
    scale: { type: 'boolean', default: false },
    sizes: { type: 'string', default: '40000,4000000' },
    table: { type: 'boolean', default: false },
    organizations: { type: 'string', default: '1,100,1000,10000' },
    requests: { type: 'string', default: '0.2' },
    messages: { type: 'string', default: '200000' },
    growth: { type: 'string', default: '300' },
  },
});
const sizes = options.sizes.split(',').map(Number);
if (!sizes.every((size) => size >= LEAST_SIZE)) {
  process.stderr.write(
    `--sizes ${options.sizes}: expected numbers of messages from ${LEAST_SIZE} on, with commas between them.\n`,
  );
  process.exit(2);
}
const main = fileURLToPath(new URL('dist/src/main.js', packageRoot));
const peerScript = fileURLToPath(new URL('dist/test/bench/peer.js', packageRoot));
const northwind = fileURLToPath(new URL('../shared/data/northwind-dev.ndjson', packageRoot));

const machine = `${cpus()[0]?.model ?? 'unknown'}, ${cpus().length} cores, Node ${process.version}, ${CONNECTIONS} connections`;
const compared: Compared[] = [];
const lines: string[] = [];
const print = (line: string): void => {
  lines.push(line);
  process.stdout.write(`${line}\n`);
};
const shots = openShots(options.only ?? '', compared, print);
const { compare, measure } = shots;

const call = (name: string, input: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } });

/** Each installation may start 100 tasks, so 600 installations are enough for all rounds. */
const INSTALLATIONS = 600;

/**
 * Each OAuth client may get 60 tokens a minute. 2,000 clients can get more than twice the tokens that all rounds need.
 */
const CLIENTS = 2_000;

/** All tokens belong to one app, so that the leasing of quotas does not affect the comparison. */
async function tokensOf(sql: postgres.Sql, count: number): Promise<string[]> {
  const { app, token } = await issue(sql, 1);
  const tokens = [token];
  while (tokens.length < count) tokens.push((await issue(sql, 1, { app })).token);
  return tokens;
}

async function starts(dataDir: string): Promise<void> {
  const env = { GATEWAY_DATA_DIR: dataDir, PORT: String(OURS), LOG_LEVEL: 'silent' };
  const cold = await start(main, ['serve'], env);
  await cold.stop();
  const warm: number[] = [];
  for (let i = 0; i < 3; i++) {
    const one = await start(main, ['serve'], env);
    warm.push(one.ready);
    await one.stop();
  }
  print(`cold start ${Math.round(cold.ready)} ms (with initdb and demo)   warm start ${Math.round(median(warm))} ms`);
}

async function only(bench: Bench): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  const store = await openEmbedded({ dataDir, log: () => undefined });
  try {
    await bench(store, print);
  } finally {
    await store.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function run(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  print(machine);
  await starts(dataDir);
  const store = await openEmbedded({ dataDir, log: () => undefined });
  const target = { host: store.host, port: store.port, database: 'gateway', username: 'postgres' };
  const db = openDatabase({ target, connections: 2, statementTimeout: 600_000, name: 'bench' });
  const sql = postgres({ ...target, max: 1, onnotice: () => undefined });
  const servers: Started[] = [];
  try {
    if (existsSync(northwind)) {
      const began = performance.now();
      const { read, written } = await importFiles(db, { files: [northwind] });
      const seconds = (performance.now() - began) / 1000;
      print(`import ${written} of ${read} records in ${seconds.toFixed(2)} s: ${Math.round(read / seconds)}/s`);
    }
    await sql`ANALYZE`;
    const visitors = await websitesForNotes(sql);
    const { token, credential } = await issue(sql, 1);
    await mapAuthors(sql, credential);
    const gateway = await start(main, ['serve', '--no-demo'], {
      GATEWAY_DATA_DIR: dataDir,
      PORT: String(OURS),
      LOG_LEVEL: 'warn',
    });
    servers.push(gateway);
    servers.push(
      await start(peerScript, [], { PEER_HOST: store.host, PEER_DB_PORT: String(store.port), PEER_PORT: String(PEER) }),
    );
    const [contact] = await sql`SELECT id FROM platform.contact WHERE tenant = 1 AND site = 1 AND NOT deleted LIMIT 1`;
    const [conversation] = await sql`SELECT conversation_id AS id FROM platform.message
      WHERE tenant = 1 AND site = 1 AND visibility = 'public' GROUP BY 1 ORDER BY count(*) DESC LIMIT 1`;
    const both = (path: string): [Target, Target] => [
      { port: OURS, path },
      { port: PEER, path },
    ];
    const contactId = `ctc_1_1_${contact?.['id']}`;
    const contactPath = `/api/v1/contacts/${contactId}`;
    const { request, authorizations, accessToken } = await benchClients(sql, CLIENTS, OURS);
    const headers = { authorization: `Bearer ${await accessToken()}` };
    await measure('client credentials token', { port: OURS, path: '/oauth/token', ...request, authorizations });
    const [ours] = both(contactPath);
    await compare('contact, access token', { ...ours, headers }, ours, token, 'ours with an installation token');
    await compare('contact by id', ...both(contactPath), token);
    await compare('contact, bare', ours, { port: PEER + 1, path: contactPath }, token, 'node:http without authority');
    await compare('conversations page', ...both('/api/v1/conversations?website_id=web_1_1'), token);
    await compare('messages page', ...both(`/api/v1/conversations/cnv_1_1_${conversation?.['id']}/messages`), token);
    const notes = (visitors: readonly string[], peer = '/api/v1'): [Target, Target] => {
      const to = (port: number, under: string): Target => {
        const paths = visitors.map((visitor) => `${under}/visitors/${visitor}/notes`);
        return { port, path: paths[0] ?? '', writes: paths, body: '{"text":"A note of the bench."}' };
      };
      return [to(OURS, '/api/v1'), to(PEER, peer)];
    };
    const kept = 'similar records in one statement';
    await compare('notes, eight websites', ...notes(visitors.flat()), token);
    await compare('notes, one website', ...notes(visitors[0] ?? []), token);
    await compare('notes with records, eight websites', ...notes(visitors.flat(), '/kept'), token, kept);
    await compare('notes with records, one website', ...notes(visitors[0] ?? [], '/kept'), token, kept);
    const body = call('contact_get', { contact_id: contactId });
    const mcp: Target = { port: OURS, path: '/mcp', body };
    await compare('MCP contact_get', mcp, { port: PEER, path: '/mcp', body }, token);
    const mcpOf = (name: string, input: object): [Target, Target] => [
      { ...mcp, body: call(name, input) },
      { port: PEER, path: '/mcp', body: call(name, input) },
    ];
    await compare('MCP conversations_list', ...mcpOf('conversations_list', { website_id: 'web_1_1' }), token);
    const messages = { conversation_id: `cnv_1_1_${conversation?.['id']}` };
    await compare('MCP conversation_messages', ...mcpOf('conversation_messages', messages), token);
    const { method, params: called } = JSON.parse(body);
    const envelope = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const modern: Target = {
      ...mcp,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...called, _meta: envelope } }),
      headers: { 'mcp-protocol-version': MODERN, 'mcp-method': method, 'mcp-name': called.name },
    };
    const older: Target = { ...mcp, headers: { 'mcp-protocol-version': LEGACY[0] } };
    await compare(`MCP ${MODERN}`, modern, older, token, `ours in ${LEGACY[0]}`);
    await compare('MCP against our REST', mcp, { port: OURS, path: contactPath }, token, 'our REST');
    const installations = await tokensOf(sql, INSTALLATIONS);
    const message = { messageId: 'MESSAGE', role: 'ROLE_USER' };
    const data = { skill: 'contact_inspection', arguments: { contact_id: contactId } };
    const params = { message: { ...message, parts: [{ data, mediaType: 'application/json' }] } };
    const task = {
      path: '/a2a',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params }),
      installations,
    };
    await compare(
      'A2A contact_inspection',
      { port: OURS, ...task },
      { port: PEER, ...task },
      token,
      'the SDK’s handler, in memory',
    );
    print(`resident memory after load ${Math.round(gateway.rss())} MB`);
    if (options.scale || options.only === 'retry') await tombstones(store, visitors[0]?.[0] ?? '', print);
    if (options.scale) {
      await scale(store, sizes, print);
      await pulls(store, print);
      await journal(store, print);
      await realtime(store, print);
      await webhooks(store, print);
    }
  } finally {
    for (const server of servers) await server.stop();
    await Promise.all([db.close(), sql.end()]);
    await store.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

type Bench = (store: EmbeddedStore, print: (line: string) => void) => Promise<void>;

const onEmbedded: Readonly<Record<string, Bench>> = {
  ...{ allow, approve, audit, console: overview, erasure, import: importing, index: indexes, journal, pulls, realtime },
  ...{ recall, scale: (store) => scale(store, sizes, print), search, sizes: rowSizes, webhooks, workers },
};
/** What `--only` runs in place of the comparisons. */
const alone = new Map<string, () => Promise<void>>([
  ...Object.entries(onEmbedded).map(([name, bench]) => [name, () => only(bench)] as const),
  ['cells', () => cells(readLoad(options), print)],
  ['replica', () => replica(print)],
  ['retry', run],
]);
const names = [...alone.keys()].sort();
const HELP = `npm run bench -- [options]

Compares the gateway with hand-written peers, in turn, and prints medians and ratios. The ratios hold on other machines
too, the absolute figures only for this one at this time. Writes a page with plots to dist/bench/report.html.
Exit code 1: all rounds of a ratio are below those of the last run with --record.

  --only TEXT    only the comparisons with TEXT in their name. These names run nothing else:
                 ${names.slice(0, 10).join(', ')},
                 ${names.slice(10).join(', ')}
  --sizes LIST   of scale: messages of each website (40000,4000000). 40000000 takes half an hour and 30 GB
  --scale        adds scale, pulls, journal, realtime and webhooks to the comparisons, beside the servers that these use
  --table        also prints the rows of the table in docs/benchmarks.md
  --record       records the ratios in test/bench/recorded.json
  --organizations LIST, --requests N, --messages N, --growth N
                 of cells: the load of an organization (docs/scale.md)
`;
if (options.help) {
  process.stdout.write(HELP);
  process.exit();
}
const one = alone.get(options.only ?? '');
await (one ?? run)();
if (!one && shots.chosen === 0) {
  process.stderr.write(`No comparison has "${options.only}" in its name. See npm run bench -- --help.\n`);
  process.exit(2);
}
const report = { machine, date: new Date(), compared, lines };
if (options.table) process.stdout.write(`\n${tableRows(report)}\n\n`);
process.stdout.write(`report: ${writeReport(report)}\n`);
if (compared.length > 0) {
  // Judge before the new record replaces the old one.
  const { notes, fallen } = judge(compared);
  process.stdout.write([...notes, ...fallen].map((sentence) => `${sentence}\n`).join(''));
  if (fallen.length > 0) process.exitCode = 1;
  if (options.record) record(compared);
}
