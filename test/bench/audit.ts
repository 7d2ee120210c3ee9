import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.ts';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import type { EmbeddedStore } from '../../src/store/embedded/embedded.ts';
import { issue } from '../support/credentials.ts';
import { start } from './processes.ts';
import { median } from './report.ts';
import { shoot, type Target } from './shots.ts';
import { openWorld } from './world.ts';

const PORTS = { on: 8795, off: 8796 };
const ROUNDS = 9;
const SECONDS = 1.5;

/** The processor time of processes, in microseconds. The kernel counts in steps of 10 ms. */
export function timeOf(pids: readonly (number | undefined)[]): number {
  const fields = pids.map((pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []);
  return fields.reduce((sum, one) => sum + (Number(one[11]) + Number(one[12])) * 10_000, 0);
}

/** The PostgreSQL processes that serve connections of this name, such as `gateway-audit`. */
function backendsOf(children: readonly number[]): number[] {
  const running = new Set(readdirSync('/proc'));
  return children.filter((pid) => running.has(String(pid)));
}

interface Round {
  readonly rate: number;
  /** Microseconds of a request in the gateway, and in PostgreSQL. */
  readonly gateway: number;
  readonly store: number;
}

/**
 * Compares reads with audit records and without them, in one interleaved run: a contact, which is the smallest read, a
 * page of 25 conversations, and the same page over MCP. On a busy machine the processor time of a request says more than
 * the rate.
 */
export async function audit(store: EmbeddedStore, print: (line: string) => void): Promise<void> {
  const { db, sql, close } = await openWorld(store, 'gateway');
  await importRecords(db, demoRecords(new Date()), {});
  await sql`ANALYZE`;
  const { token } = await issue(sql, 1);
  const [contact] = await sql`SELECT id FROM platform.contact WHERE tenant = 1 AND site = 1 AND NOT deleted LIMIT 1`;
  const called = { name: 'conversations_list', arguments: { website_id: 'web_1_1' } };
  const reads = new Map<string, Omit<Target, 'port'>>([
    ['contact', { path: `/api/v1/contacts/ctc_1_1_${contact?.['id']}` }],
    ['conversations page', { path: '/api/v1/conversations?website_id=web_1_1' }],
    [
      'MCP conversations_list',
      { path: '/mcp', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: called }) },
    ],
  ]);
  const script = fileURLToPath(new URL('dist/test/bench/booked.js', packageRoot));
  const url = `postgres://postgres@${encodeURIComponent(store.host)}:${store.port}/gateway`;
  const servers = {
    on: await start(script, ['on', String(PORTS.on), url], {}),
    off: await start(script, ['off', String(PORTS.off), url], {}),
  };
  const round = async (read: Omit<Target, 'port'>, state: 'on' | 'off', seconds: number): Promise<Round> => {
    const pids = [servers[state].process.pid];
    const rows = await sql<{ pid: number }[]>`SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()`;
    const before = new Map(backendsOf(rows.map(({ pid }) => pid)).map((pid) => [pid, timeOf([pid])]));
    const own = timeOf(pids);
    const { rate } = await shoot({ port: PORTS[state], ...read }, token, seconds);
    const calls = rate * seconds;
    // A connection can have ended meanwhile.
    const left = backendsOf([...before.keys()]);
    const theirs = left.reduce((sum, pid) => sum + timeOf([pid]) - (before.get(pid) ?? 0), 0);
    return { rate, gateway: (timeOf(pids) - own) / calls, store: theirs / calls };
  };
  const compare = async (name: string, read: Omit<Target, 'port'>): Promise<void> => {
    const rounds = { on: [] as Round[], off: [] as Round[] }; // filled below
    for (const state of ['on', 'off', 'on', 'off'] as const) await round(read, state, 1);
    for (let i = 0; i < ROUNDS; i++)
      for (const state of i % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const))
        rounds[state].push(await round(read, state, SECONDS));
    for (const state of ['on', 'off'] as const) {
      const of = (member: keyof Round): number => median(rounds[state].map((one) => one[member]));
      print(
        `${name}, audit records ${state.padEnd(4)} ${Math.round(of('rate'))}/s  gateway ${Math.round(of('gateway'))} µs` +
          `  PostgreSQL ${Math.round(of('store'))} µs a request`,
      );
    }
    const told = (what: string, ratio: (one: Round, other: Round) => number): void => {
      const each = rounds.on.flatMap((one, i) => (rounds.off[i] ? [ratio(one, rounds.off[i])] : []));
      const [least, most] = [Math.min(...each), Math.max(...each)];
      print(
        `${name}, audit records: ${what} ${median(each).toFixed(3)} times that without (${least.toFixed(2)} to ${most.toFixed(2)})`,
      );
    };
    told('rate', (one, other) => one.rate / other.rate);
    told('processor time', (one, other) => (one.gateway + one.store) / (other.gateway + other.store));
  };
  try {
    for (const [name, read] of reads) await compare(name, read);
  } finally {
    await Promise.all([servers.on.stop(), servers.off.stop()]);
    await close();
  }
}
