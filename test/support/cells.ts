import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type postgres from 'postgres';
import { expect } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';
import { migrate } from '../../src/store/open/migrate.ts';
import { gateway } from './cli.ts';
import { type Cluster, openCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { LONG } from './form.ts';
import { DEMO_NOW } from './postgres.ts';
import { madeOnce } from './template.ts';

export interface Cell {
  readonly cluster: Cluster;
  readonly url: string;
  readonly sql: postgres.Sql;
}

export interface Cells {
  readonly source: Cell;
  readonly target: Cell;
}

export const DATABASE = 'gateway';
const root = fileURLToPath(packageRoot);

const databaseOf = (url: string): Database =>
  openDatabase({ target: url, connections: 2, statementTimeout: 60_000, name: 'test-cells' });

const LOGICAL = { wal_level: 'logical' };

/**
 * Two cells with the same ledger key. The source has the demo's organization (1), and a copy of it (2). Their servers are
 * new, and their data are copies of what the first test of a run has made.
 */
export async function openCells(): Promise<Cells> {
  const made = await madeOnce('cells', makeCells);
  const open = async (side: keyof Cells): Promise<Cell> => cellAt(await openCluster(LOGICAL, join(made, side)));
  const [source, target] = await Promise.all([open('source'), open('target')]);
  return { source, target };
}

async function makeCells(folder: string): Promise<void> {
  const [source, target] = await Promise.all([makeCell(1), makeCell(2)]);
  const db = databaseOf(source.url);
  await importRecords(db, demoRecords(new Date(DEMO_NOW)), {});
  await importRecords(db, renamed(demoRecords(new Date(DEMO_NOW))), {});
  await db.close();
  const [row] = await source.sql<{ key: Buffer }[]>`SELECT key FROM gateway.ledger_key`;
  await target.sql`UPDATE gateway.ledger_key SET key = ${row?.key ?? Buffer.alloc(32)}`;
  await Promise.all([source.cluster.leave(join(folder, 'source')), target.cluster.leave(join(folder, 'target'))]);
}

/** The number of a cell. A gateway compares it with its setting when it starts. */
export const number = ({ sql }: Cell, n: number): Promise<unknown> => sql`UPDATE gateway.cell SET number = ${n}`;

/** With an `initdb` of its own: two cells of one system identifier would be one database. */
async function makeCell(n: number): Promise<Cell> {
  const cluster = await openCluster(LOGICAL);
  await cluster.sql('postgres').unsafe(`CREATE DATABASE ${DATABASE}`);
  const made = cellAt(cluster);
  const db = databaseOf(made.url);
  await migrate(db, n);
  await db.close();
  return made;
}

const cellAt = (cluster: Cluster): Cell => ({ cluster, url: cluster.url(DATABASE), sql: cluster.sql(DATABASE) });

/** The demo's records of an organization with another name. */
export async function* renamed(records: ReturnType<typeof demoRecords>): ReturnType<typeof demoRecords> {
  for await (const one of records) yield JSON.parse(JSON.stringify(one).replaceAll('larkspur', 'rosewood'));
}

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

const run = (script: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> =>
  new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [join(root, 'dist', script), ...args],
      { cwd: root, env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env }, timeout: 240_000 },
      (_, stdout, stderr) => resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr }),
    );
  });

/** The base URL of the target in tests of the command. No test calls it. */
export const BASE_URL = 'https://cell2.example.com';

/** `GATEWAY_KEYS` of both cells. */
export const SECRET = `test:${Buffer.alloc(32, 7).toString('base64')}`;

/** Runs a command of the gateway in this process, because a new one takes half a second. In the long form, in a new one. */
const command = (args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> =>
  LONG ? run('src/main.js', args, env) : inProcess(args, env);

let busy = false;
/** What can be in the environment of a test process, and none of a command. */
const OWN = /^(GATEWAY_|PG|DATABASE_|LOG_LEVEL$)/;

async function inProcess(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  if (busy) throw new Error('two commands at once need processes of their own');
  busy = true;
  const before = { ...process.env };
  const open = sockets();
  for (const name of Object.keys(before)) if (OWN.test(name)) delete process.env[name];
  Object.assign(process.env, env);
  try {
    const ran = await gateway(...args);
    const left = `gateway ${args.join(' ')} leaves a connection`;
    await eventually(() => expect(sockets(), left).toBeLessThanOrEqual(open), 10_000);
    return { ...ran, signal: null };
  } finally {
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before);
    busy = false;
  }
}

/** An open one keeps the process of a command alive. */
const sockets = (): number => process.getActiveResourcesInfo().filter((one) => /TCP|Pipe|TLS/.test(one)).length;

/** Runs `gateway organization`. */
export const organizationCommand = (args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> =>
  command(['organization', ...args], { GATEWAY_KEYS: SECRET, ...env });

/** Runs `gateway organization` in a process of its own. */
export const organizationProcess = (args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> =>
  run('src/main.js', ['organization', ...args], { GATEWAY_KEYS: SECRET, ...env });

/** The findings of `gateway cells check` at the source. */
export async function findings({ source, target }: Cells): Promise<Record<'check' | 'severity' | 'detail', string>[]> {
  const env = { GATEWAY_KEYS: SECRET, DATABASE_URL: source.url };
  return JSON.parse((await command(['cells', 'check', target.url, '--json'], env)).stdout).findings;
}

const moving = ({ target }: Cells, more: readonly string[]): readonly string[] => [
  ...['move', 'larkspur', '--to', target.url, '--base-url', BASE_URL, '--yes', '--json'],
  ...more,
];

/** Moves the demo's organization with the command. */
export const move = (cells: Cells, ...more: readonly string[]): Promise<Ended> =>
  organizationCommand(moving(cells, more), { DATABASE_URL: cells.source.url });

/** The same with the command in a process of its own, beside which the test goes on. */
export const moveProcess = (cells: Cells): Promise<Ended> =>
  organizationProcess(moving(cells, []), { DATABASE_URL: cells.source.url });

/** The same move in a process that kills itself at this step. */
export const moveUntil = ({ source, target }: Cells, step: string, tenant = '1'): Promise<Ended> =>
  run('test/support/faults/mover.js', [source.url, target.url, step, tenant], {});

/** What a move leaves behind at both sides, by its kind. Nothing, once it has ended or was abandoned. */
export async function leftovers({ source, target }: Cells): Promise<string[]> {
  const found: string[] = [];
  for (const [side, { sql }] of Object.entries({ source, target })) {
    const rows = await sql<{ what: string }[]>`
      SELECT 'slot ' || slot_name AS what FROM pg_replication_slots WHERE slot_type = 'logical'
      UNION ALL SELECT 'publication ' || pubname FROM pg_publication
      UNION ALL SELECT 'subscription ' || subname FROM pg_subscription
      UNION ALL SELECT 'trigger on ' || tgrelid::regclass FROM pg_trigger WHERE tgname LIKE '0\\_move%'`;
    found.push(...rows.map(({ what }) => `${side}: ${what}`));
  }
  return found;
}

/** Copies the messages of organization 1 until it has about so many. Takes 30 s for 100,000. */
export async function fill({ cluster }: Cell, messages: number): Promise<void> {
  // One connection, because the setting is one of the connection.
  const sql = await cluster.sql(DATABASE).reserve();
  await sql`SELECT set_config('gateway.capture', 'off', false)`;
  for (let n = 1; n < messages / 2_271; n++)
    await sql`
      INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, author_id, visibility, kind, text, created_at)
      SELECT tenant, site, id + 10000 * ${n}::bigint, external_id || '-' || ${n}::text, conversation_id, author_type, author_id, visibility, kind,
             text || ' ' || ${n}::text, created_at + ${n}::integer * interval '1 minute'
        FROM platform.message WHERE tenant = 1 AND id < 10000`;
  await sql`SELECT set_config('gateway.capture', '', false)`;
  await sql`ANALYZE`;
  sql.release();
}
