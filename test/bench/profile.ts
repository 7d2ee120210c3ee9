import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import postgres from 'postgres';
import { z } from 'zod';
import { packageRoot } from '../../src/config/package.ts';
import { type EmbeddedStore, openEmbedded } from '../../src/store/embedded/embedded.ts';
import { issue } from '../support/credentials.ts';
import { mapAuthors, websitesForNotes } from './notes.ts';
import { type Started, start } from './processes.ts';
import { spent, spentBelow } from './processor.ts';

/**
 * `node dist/test/bench/profile.js` shows where the processor time of one request goes, for each surface: the gateway's
 * time by room, PostgreSQL's time, and the calls of read and write. It prints the rows of the table in docs/one-request.md.
 */
const CONNECTIONS = 16;
const SECONDS = 6;
const PORT = 8793;
const main = fileURLToPath(new URL('dist/src/main.js', packageRoot));

const Profile = z.object({
  nodes: z.array(z.object({ id: z.int(), callFrame: z.object({ functionName: z.string(), url: z.string() }) })),
  samples: z.array(z.int()),
  timeDeltas: z.array(z.number()),
});
type Frame = z.infer<typeof Profile>['nodes'][number]['callFrame'];

/** Writes a script that runs `main`. SIGUSR2 starts a profile in it, and the next SIGUSR2 writes it to `folder`. */
function profiling(folder: string): string {
  const script = join(folder, 'profiling.mjs');
  writeFileSync(
    script,
    `import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.setSamplingInterval', { interval: 200 });
let runs = false;
process.on('SIGUSR2', async () => {
  runs = !runs;
  if (runs) return session.post('Profiler.start');
  const { profile } = await session.post('Profiler.stop');
  writeFileSync(process.env.PROFILE_FILE, JSON.stringify(profile));
});
await import(${JSON.stringify(main)});
`,
  );
  return script;
}

/** The room of a function: a folder of src/ with its first subfolder, `tools`, a package, or a part of Node. */
function roomOf({ url, functionName }: Frame): string {
  const [, own] = /\/dist\/(src\/[^/]+(?:\/[^/.]+(?=\/))?|tools)/.exec(url) ?? [];
  if (own !== undefined) return `\`${own}/\``;
  const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
  if (name !== undefined) return `package ${name}`;
  if (functionName === '(garbage collector)') return 'garbage collection';
  return url.startsWith('node:') ? 'Node: HTTP, streams, timers' : 'native code and system calls';
}

/** Milliseconds of the profile by room, without idle time. A function counts without the time of what it calls. */
function byRoom(file: string): Map<string, number> {
  const { nodes, samples, timeDeltas } = Profile.parse(JSON.parse(readFileSync(file, 'utf8')));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const rooms = new Map<string, number>();
  for (const [i, id] of samples.entries()) {
    const frame = frames.get(id);
    if (!frame || frame.functionName === '(idle)') continue;
    rooms.set(roomOf(frame), (rooms.get(roomOf(frame)) ?? 0) + (timeDeltas[i] ?? 0) / 1_000);
  }
  return rooms;
}

/** How many times the process has called read or write, and their kin. */
function calls(pid: string): number {
  const [, reads] = /syscr: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8')) ?? [];
  const [, writes] = /syscw: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8')) ?? [];
  return Number(reads) + Number(writes);
}

interface Subject {
  readonly name: string;
  readonly path: string;
  readonly body?: string;
  /** Drawn anew for each request: the key of a write, or the token of the next installation and the id of a message. */
  readonly each?: () => { readonly headers: Readonly<Record<string, string>>; readonly body?: string };
}

async function load({ path, body, each }: Subject, token: string, seconds: number): Promise<number> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }),
  };
  const { non2xx, errors, requests } = await autocannon({
    url: `http://127.0.0.1:${PORT}${path}`,
    connections: CONNECTIONS,
    duration: seconds,
    headers,
    ...(body !== undefined && { method: 'POST', body }),
    ...(each && {
      requests: [
        {
          setupRequest: (request) => {
            const own = each();
            return { ...request, ...own, headers: { ...request.headers, ...own.headers } };
          },
        },
      ],
    }),
  });
  if (non2xx + errors > 0) throw new Error(`${path}: ${non2xx} not 2xx, ${errors} errors`);
  return requests.total;
}

interface World {
  readonly token: string;
  readonly gateway: Started;
  /** The process id of PostgreSQL's postmaster. */
  readonly postmaster: string;
  /** The file of the last profile. */
  readonly file: string;
  readonly sql: postgres.Sql;
}

interface Measured {
  readonly name: string;
  readonly rooms: ReadonlyMap<string, number>;
  readonly all: readonly (readonly [what: string, value: string])[];
}

async function measure(subject: Subject, { token, gateway, postmaster, file, sql }: World): Promise<Measured> {
  const pid = String(gateway.process.pid);
  await load(subject, token, 4); // V8 has compiled the hot functions by then
  const before = [spent(pid), spentBelow(postmaster), calls(pid)] as const;
  await sql`SELECT pg_stat_statements_reset()`;
  gateway.process.kill('SIGUSR2');
  const requests = await load(subject, token, SECONDS);
  const after = [spent(pid), spentBelow(postmaster), calls(pid)] as const;
  const [planned, executed, run] = await statements(sql);
  gateway.process.kill('SIGUSR2');
  await pause(1_000);
  const each = (i: 0 | 1 | 2): number => (after[i] - before[i]) / requests;
  const rooms = new Map([...byRoom(file)].map(([room, ms]) => [room, (ms * 1_000) / requests]));
  const micro = (ms: number): string => String(Math.round((ms * 1_000) / requests));
  return {
    name: subject.name,
    rooms,
    all: [
      ['**gateway, processor time**', `**${Math.round(each(0) * 1_000)}**`],
      ['PostgreSQL, processor time', String(Math.round(each(1) * 1_000))],
      ['PostgreSQL, planning', micro(planned)],
      ['PostgreSQL, execution', micro(executed)],
      ['statements', (run / requests).toFixed(2)],
      ['calls of read and write', each(2).toFixed(1)],
    ],
  };
}

/** The table: a row for each room that takes at least 2 µs of some surface, and a row for the sums. */
function table(measured: readonly Measured[]): string {
  const rooms = [...new Set(measured.flatMap((one) => [...one.rooms.keys()]))];
  const most = (room: string): number => Math.max(...measured.map((one) => one.rooms.get(room) ?? 0));
  const shown = rooms.filter((room) => most(room) >= 2).sort((a, b) => most(b) - most(a));
  const rest = ({ rooms: all }: Measured): number =>
    [...all].reduce((sum, [room, value]) => sum + (shown.includes(room) ? 0 : value), 0);
  const row = (name: string, cells: readonly string[]): string => `| ${[name, ...cells].join(' | ')} |`;
  return [
    row(
      'µs a request',
      measured.map(({ name }) => name),
    ),
    `|---${'|---:'.repeat(measured.length)}|`,
    ...shown.map((room) =>
      row(
        room,
        measured.map((one) => String(Math.round(one.rooms.get(room) ?? 0))),
      ),
    ),
    row(
      'other rooms',
      measured.map((one) => String(Math.round(rest(one)))),
    ),
    ...(measured[0]?.all ?? []).map(([what], i) =>
      row(
        what,
        measured.map(({ all }) => all[i]?.[1] ?? ''),
      ),
    ),
  ].join('\n');
}

const superuser = ({ host, port }: EmbeddedStore): postgres.Sql =>
  postgres({ host, port, database: 'gateway', username: 'postgres', max: 1, onnotice: () => undefined });

/** Opens the store with pg_stat_statements, which PostgreSQL loads only when it starts. */
async function openCounting(dataDir: string): Promise<EmbeddedStore> {
  const first = await openEmbedded({ dataDir, log: () => undefined });
  const sql = superuser(first);
  await sql`ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'`;
  await sql`ALTER SYSTEM SET pg_stat_statements.track_planning = on`;
  await sql`CREATE EXTENSION pg_stat_statements`;
  await sql.end();
  await first.stop();
  return openEmbedded({ dataDir, log: () => undefined });
}

/** Milliseconds that PostgreSQL has planned and executed, and the statements that it has run, since the last reset. */
async function statements(sql: postgres.Sql): Promise<readonly [planned: number, executed: number, calls: number]> {
  const [row] = await sql<{ planned: number; executed: number; calls: string }[]>`
    SELECT sum(total_plan_time) AS planned, sum(total_exec_time) AS executed, sum(calls) AS calls
      FROM pg_stat_statements WHERE toplevel`;
  return [row?.planned ?? 0, row?.executed ?? 0, Number(row?.calls)];
}

async function run(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-profile-'));
  const env = { GATEWAY_DATA_DIR: dataDir, PORT: String(PORT), LOG_LEVEL: 'silent' };
  await (await start(main, ['serve'], env)).stop();
  const store = await openCounting(dataDir);
  const sql = superuser(store);
  const file = join(dataDir, 'profile.json');
  let gateway: Started | undefined;
  try {
    const visitors = (await websitesForNotes(sql)).flat();
    const { app, token, credential } = await issue(sql, 1);
    await mapAuthors(sql, credential);
    const tokens: string[] = [];
    while (tokens.length < 400) tokens.push((await issue(sql, 1, { app })).token);
    await sql`ANALYZE`;
    const [contact] = await sql`SELECT id FROM platform.contact WHERE tenant = 1 AND site = 1 AND NOT deleted LIMIT 1`;
    const [long] = await sql`SELECT conversation_id AS id FROM platform.message
      WHERE tenant = 1 AND site = 1 AND visibility = 'public' GROUP BY 1 ORDER BY count(*) DESC LIMIT 1`;
    const contactId = `ctc_1_1_${contact?.['id']}`;
    const messages = `/api/v1/conversations/cnv_1_1_${long?.['id']}/messages`;
    const rpc = (method: string, params: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const data = { skill: 'contact_inspection', arguments: { contact_id: contactId } };
    let turn = 0;
    const subjects: Subject[] = [
      { name: 'contact', path: `/api/v1/contacts/${contactId}` },
      { name: 'conversations', path: '/api/v1/conversations?website_id=web_1_1' },
      { name: 'messages', path: messages },
      {
        name: 'note',
        path: `/api/v1/visitors/${visitors[0]}/notes`,
        body: '{"text":"A note of the bench."}',
        each: () => ({ headers: { 'idempotency-key': randomUUID() } }),
      },
      {
        name: 'MCP contact',
        path: '/mcp',
        body: rpc('tools/call', { name: 'contact_get', arguments: { contact_id: contactId } }),
      },
      {
        name: 'A2A contact',
        path: '/a2a',
        body: '',
        each: () => ({
          headers: { 'a2a-version': '1.0', authorization: `Bearer ${tokens[turn++ % tokens.length]}` },
          body: rpc('SendMessage', {
            message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ data, mediaType: 'application/json' }] },
          }),
        }),
      },
    ];
    gateway = await start(profiling(dataDir), ['serve', '--no-demo'], { ...env, PROFILE_FILE: file });
    const [postmaster = ''] = readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n');
    const world = { token, gateway, postmaster, file, sql };
    const measured: Measured[] = [];
    for (const subject of subjects) measured.push(await measure(subject, world));
    process.stdout.write(`${table(measured)}\n`);
  } finally {
    await gateway?.stop();
    await sql.end();
    await store.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

await run();
