import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { exchange } from '../../support/answer.ts';
import { urlOf } from '../../support/command.ts';
import { issue } from '../../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { type Replica, startReplica } from '../../support/replica.ts';
import { CATEGORIES, type Poison } from './poison.ts';

/** A request of another organization may take so many milliseconds more than on a gateway without poison. */
export const NEIGHBOUR_MS = 250;

/** The largest memory that a process has had, in MB. */
export const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;

/** The text of a file, or nothing if the process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error) return '';
    throw error;
  }
}

export interface Neighbour {
  readonly gateway: Replica;
  readonly database: TestDatabase;
  /** What the neighbour has seen since the start: the slowest answer, and the slowest in excess of the other gateway. */
  seen(): { readonly asked: number; readonly slowest: number; readonly excess: number; readonly failed: number };
  close(): Promise<void>;
}

/**
 * A gateway that serves the demo organization, the neighbour of the poison. The neighbour asks it without a pause. At
 * the same moments it asks a second gateway that has no poison. So a busy machine is told from a held gateway.
 */
export async function openNeighbour(env: Readonly<Record<string, string>> = {}): Promise<Neighbour> {
  const databases = await Promise.all([freshDatabase('demo'), freshDatabase('demo')]);
  const gateways = await Promise.all(
    databases.map((database) => startReplica({ databaseUrl: urlOf(database), env: { LOG_LEVEL: 'warn', ...env } })),
  );
  const tokens = await Promise.all(databases.map(async ({ sql }) => (await issue(sql, 1)).token));
  const agents = gateways.map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  const seen = { asked: 0, slowest: 0, excess: 0, failed: 0 };
  const timed = async (i: number): Promise<number> => {
    const began = performance.now();
    const { status } = await exchange({
      port: Number(new URL(gateways[i]?.url ?? '').port),
      path: '/api/v1/conversations?website_id=web_1_1&limit=5',
      headers: { authorization: `Bearer ${tokens[i]}` },
      agent: agents[i],
    });
    if (status !== 200) seen.failed += 1;
    return performance.now() - began;
  };
  for (let i = 0; i < 10; i++) await Promise.all([timed(0), timed(1)]);
  let stopped = false;
  const asking = (async () => {
    while (!stopped) {
      const [poisoned = 0, clean = 0] = await Promise.all([timed(0), timed(1)]);
      seen.asked += 1;
      seen.slowest = Math.max(seen.slowest, poisoned);
      seen.excess = Math.max(seen.excess, poisoned - clean);
      await pause(15);
    }
  })();
  const [gateway] = gateways;
  const [database] = databases;
  if (gateway === undefined || database === undefined) throw new Error('no gateway has started');
  return {
    gateway,
    database,
    seen: () => ({ ...seen }),
    close: async () => {
      stopped = true;
      await asking;
      for (const agent of agents) agent.destroy();
      await Promise.all(gateways.map((one) => one.end()));
      await Promise.all(databases.map((one) => one.close()));
    },
  };
}

/** What became of an item at a door: `stored`, `converted`, `impossible`, or `rejected` with the code. */
export type Outcomes = ReadonlyMap<Poison, string>;

/** The digest of a column of each row, by external id. */
export async function digestsOf(
  sql: postgres.Sql,
  table: string,
  column: string,
): Promise<ReadonlyMap<string, string | null>> {
  const rows = await sql.unsafe<{ id: string; digest: string | null }[]>(
    `SELECT external_id AS id, md5(${column}::text) AS digest FROM platform.${table}`,
  );
  return new Map(rows.map(({ id, digest }) => [id, digest]));
}

/** What the neighbour has seen, for the table. */
export const told = ({ asked, slowest, excess }: ReturnType<Neighbour['seen']>): Readonly<Record<string, number>> => ({
  'requests of the neighbour': asked,
  'slowest ms': Math.round(slowest),
  'slowest ms in excess of a gateway without poison': Math.round(excess),
});

/** A table for the console: for each category, the number of items with each outcome. */
export function tableOf(door: string, outcomes: Outcomes, facts: Readonly<Record<string, unknown>>): string {
  const rows = CATEGORIES.flatMap((category) => {
    const all = [...outcomes].filter(([item]) => item.category === category).map(([, outcome]) => outcome);
    const kinds = [...new Set(all)].sort();
    const told = kinds.map((kind) => `${all.filter((one) => one === kind).length} ${kind}`).join(', ');
    return all.length === 0 ? [] : [`  ${category.padEnd(9)} ${String(all.length).padStart(4)}  ${told}`];
  });
  const about = Object.entries(facts).map(([name, value]) => `${name} ${value}`);
  return [`${door}: ${outcomes.size} items; ${about.join(', ')}`, ...rows].join('\n');
}

/** Names the items that `passes` refuses. Halves the list until one item is left, at most `patience` milliseconds. */
export async function culprits(
  items: readonly Poison[],
  passes: (some: readonly Poison[]) => Promise<boolean>,
  patience = 60_000,
): Promise<readonly string[]> {
  const end = performance.now() + patience;
  const search = async (some: readonly Poison[]): Promise<readonly string[]> => {
    if (some.length === 0 || (await passes(some))) return [];
    if (some.length === 1 || performance.now() > end) return some.map(({ name }) => name);
    const middle = Math.ceil(some.length / 2);
    const [first, second] = [await search(some.slice(0, middle)), await search(some.slice(middle))];
    return [...first, ...second];
  };
  return search(items);
}
