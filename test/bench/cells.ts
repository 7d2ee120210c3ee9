import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import type postgres from 'postgres';
import { packageRoot } from '../../src/config/package.ts';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import { openEmbedded } from '../../src/store/embedded/embedded.ts';
import { issue } from '../support/credentials.ts';
import { AUDIT_DAYS, BYTES, CELL, CONNECTIONS, COSTS, PLAN } from './figures.ts';
import { type Started, start } from './processes.ts';
import { postmasterOf, spentBelow, timeOf } from './processor.ts';
import { median } from './report.ts';
import { openWorld } from './world.ts';

/** What the user says about the load. All of it holds for one organization. */
export interface Load {
  /** Numbers of organizations, one row of the table each. */
  readonly organizations: readonly number[];
  /** Requests a second in the busiest second. */
  readonly requests: number;
  /** Messages today, and new ones a day. */
  readonly messages: number;
  readonly growth: number;
}

type Told = Readonly<Record<'organizations' | 'requests' | 'messages' | 'growth', string>>;

/** Reads the options of the command line. Throws an error that names the option. */
export function readLoad(told: Told): Load {
  const read = (name: keyof Told, text: string): number => {
    const value = Number(text);
    if (value > 0 && Number.isFinite(value)) return value;
    throw new Error(`--${name} must be a number above 0, not ${JSON.stringify(text)}.`);
  };
  return {
    organizations: told.organizations.split(',').map((text) => read('organizations', text)),
    requests: read('requests', told.requests),
    messages: read('messages', told.messages),
    growth: read('growth', told.growth),
  };
}

export interface Plan {
  readonly gateways: number;
  readonly cores: number;
  /** Bytes, after a year of growth. */
  readonly disk: number;
  /** Bytes a day. */
  readonly log: number;
  readonly connections: number;
  readonly cells: number;
}

const sum = (of: 'gateway' | 'store'): number =>
  Object.values(COSTS).reduce((all, cost) => all + (cost[of] * cost.share) / 100, 0);
const WRITES = (COSTS['keyed note']?.share ?? 0) / 100;

/** The arithmetic of docs/scale.md. */
export function planFor(organizations: number, { requests, messages, growth }: Omit<Load, 'organizations'>): Plan {
  const rate = organizations * requests;
  const daily = (rate / PLAN.peak) * 86_400;
  const kept = organizations * (messages + 365 * growth) * BYTES.message;
  const notes = daily * WRITES * 365 * BYTES.note;
  const audit = daily * (1 - WRITES) * AUDIT_DAYS * BYTES.read;
  const cores = (rate * sum('store')) / 1e6 / PLAN.storeLoad;
  const disk = (kept + notes + audit) * PLAN.freeDisk;
  const processes = (rate * sum('gateway')) / 1e6 / PLAN.gatewayLoad;
  const most = [cores / CELL.cores, disk / CELL.disk, (processes * CONNECTIONS) / CELL.connections];
  const cells = Math.max(1, ...most.map(Math.ceil));
  // A cell has two processes, so that one can be replaced, as soon as there is more than one organization.
  const least = organizations > 1 ? 2 : 1;
  const gateways = cells * Math.max(least, Math.ceil(processes / cells));
  return {
    gateways,
    cores: cells * Math.ceil(cores / cells),
    disk,
    log: daily * (WRITES * BYTES.noteLog + (1 - WRITES) * BYTES.readLog) + organizations * growth * BYTES.messageLog,
    connections: gateways * CONNECTIONS,
    cells,
  };
}

/** The table: its head, and a row for each number of organizations. */
export function tableOf(load: Load): string[][] {
  const gigabytes = (bytes: number): string =>
    bytes < 1e9 ? (bytes / 1e9).toPrecision(2) : (bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0);
  const rows = load.organizations.map((organizations) => {
    const { gateways, cores, disk, log, connections, cells: number } = planFor(organizations, load);
    const rate = +(organizations * load.requests).toPrecision(3);
    return [organizations, rate, gateways, cores, gigabytes(disk), gigabytes(log), connections, number].map(String);
  });
  return [
    ['organizations', 'requests/s', 'gateways', 'PG cores', 'disk, GB', 'log, GB/day', 'connections', 'cells'],
    ...rows,
  ];
}

/**
 * Prints what installations of several sizes need, calculated from measured figures. Then starts two cells, each with a
 * PostgreSQL and a gateway of its own, and compares the processor time of a request in one cell with that in two at the
 * same rate. The arithmetic expects no difference.
 */
export async function cells(load: Load, print: (line: string) => void): Promise<void> {
  print(
    `one organization: ${load.requests} requests a second at its peak, ${load.messages} messages, ${load.growth} new ones a day`,
  );
  print(`a request of the mix: gateway ${sum('gateway').toFixed(0)} µs, PostgreSQL ${sum('store').toFixed(0)} µs`);
  for (const row of tableOf(load)) print(row.map((one) => one.padStart(13)).join(''));
  await check(print);
}

const PORTS = [8801, 8802] as const;
const ROUNDS = 3;
const SECONDS = 4;
/** Requests a second in each cell. Low enough for two cells on two processors. */
const RATE = 500;
/** Two cells on one machine share its caches, so a request may cost this part more, and a busy machine adds noise. */
const BOUND = 0.25;

interface Cell {
  readonly sql: postgres.Sql;
  readonly gateway: Started;
  readonly port: number;
  readonly token: string;
  readonly postmaster: string;
  close(): Promise<void>;
}

async function openCell(port: number): Promise<Cell> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-cell-'));
  const store = await openEmbedded({ dataDir, log: () => undefined });
  const { db, sql, close } = await openWorld(store, 'gateway');
  await importRecords(db, demoRecords(new Date()), {});
  await sql`ANALYZE`;
  const { token } = await issue(sql, 1);
  const main = fileURLToPath(new URL('dist/src/main.js', packageRoot));
  const gateway = await start(main, ['serve', '--no-demo'], {
    DATABASE_URL: `postgres://postgres@${encodeURIComponent(store.host)}:${store.port}/gateway`,
    GATEWAY_KEYS: `1:${randomBytes(32).toString('base64')}`,
    ...{ GATEWAY_DATA_DIR: dataDir, PORT: String(port), LOG_LEVEL: 'silent' },
  });
  return {
    ...{ sql, gateway, port, token, postmaster: await postmasterOf(sql) },
    close: async () => {
      await gateway.stop();
      await close();
      await store.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Microseconds of processor time for each request, and requests a second. A `rate` of undefined is full speed. */
async function drive(cell: Cell, rate: number | undefined): Promise<{ gateway: number; store: number; rate: number }> {
  const pids = [cell.gateway.process.pid ?? 0];
  const before = [timeOf(pids), spentBelow(cell.postmaster)] as const;
  const { requests, non2xx, errors } = await autocannon({
    url: `http://127.0.0.1:${cell.port}`,
    ...{ connections: 8, duration: SECONDS, headers: { authorization: `Bearer ${cell.token}` } },
    ...(rate !== undefined && { overallRate: rate }),
    requests: [{ path: '/api/v1/contacts/ctc_1_1_1' }, { path: '/api/v1/conversations?website_id=web_1_1' }],
  });
  if (non2xx + errors > 0) throw new Error(`${non2xx} not 2xx, ${errors} errors`);
  return {
    gateway: (timeOf(pids) - before[0]) / requests.total,
    store: ((spentBelow(cell.postmaster) - before[1]) * 1_000) / requests.total,
    rate: requests.average,
  };
}

async function check(print: (line: string) => void): Promise<void> {
  const opened: Cell[] = [];
  try {
    for (const port of PORTS) opened.push(await openCell(port));
    const both = (rate: number | undefined) => Promise.all(opened.map((cell) => drive(cell, rate)));
    await both(RATE);
    const [alone, together]: [number[][], number[][]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, cell] of opened.entries()) {
        const { gateway, store } = await drive(cell, RATE);
        alone[i] = [...(alone[i] ?? []), gateway + store];
      }
      for (const [i, { gateway, store }] of (await both(RATE)).entries())
        together[i] = [...(together[i] ?? []), gateway + store];
    }
    const micros = (rounds: readonly number[] | undefined): number => median(rounds ?? []);
    const ratios = opened.map((_, i) => micros(together[i]) / micros(alone[i]));
    for (const [i, ratio] of ratios.entries())
      print(
        `cell ${i + 1}, ${RATE} requests a second: ${micros(alone[i]).toFixed(0)} µs a request while the other cell rests, ` +
          `${micros(together[i]).toFixed(0)} µs while it has the same load (${ratio.toFixed(2)} times)`,
      );
    const holds = ratios.every((ratio) => Math.abs(ratio - 1) <= BOUND);
    print(`the arithmetic ${holds ? 'holds' : 'does not hold here'}: bound ${BOUND * 100} %`);
    const [first] = opened;
    const one = first ? (await drive(first, undefined)).rate : 0;
    const two = (await both(undefined)).reduce((all, { rate }) => all + rate, 0);
    print(
      `full speed on this machine's processors, which cells, PostgreSQL and the load share: one cell ` +
        `${one.toFixed(0)}/s, two cells together ${two.toFixed(0)}/s`,
    );
  } finally {
    for (const cell of opened) await cell.close();
  }
}
