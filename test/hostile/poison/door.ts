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
  /**
   * What the neighbour has seen since the start: the slowest answer, and the slowest in excess of the other
   * gateway. `held` is the same for an answer that needs no database, so it tells how long the process was held.
   */
  seen(): {
    readonly asked: number;
    readonly slowest: number;
    readonly excess: number;
    readonly held: number;
    readonly failed: number;
  };
  close(): Promise<void>;
}

/** An answer: when it was asked for, and when it came. */
interface Timed {
  readonly began: number;
  readonly ended: number;
}

/** Milliseconds around an answer in which the answers of the other gateway count as answers of the same moment. */
const AROUND = 1_000;

/** The largest time that an answer took more than every answer of the other gateway at the same moment. */
export function excessOf(poisoned: readonly Timed[], clean: readonly Timed[]): number {
  const took = ({ began, ended }: Timed): number => ended - began;
  const beyond = poisoned
    .filter((one) => took(one) > NEIGHBOUR_MS / 2)
    .map((one) => {
      const near = clean.filter(({ began, ended }) => ended > one.began - AROUND && began < one.ended + AROUND);
      return took(one) - Math.max(0, ...near.map(took));
    });
  return Math.max(0, ...beyond);
}

/**
 * A gateway that serves the demo organization, the neighbour of the poison. The neighbour asks it without a pause, and
 * also asks a second gateway that has no poison. So a busy machine is told from a held gateway.
 */
export async function openNeighbour(env: Readonly<Record<string, string>> = {}): Promise<Neighbour> {
  const databases = await Promise.all([freshDatabase('demo'), freshDatabase('demo')]);
  const gateways = await Promise.all(
    databases.map((database) => startReplica({ databaseUrl: urlOf(database), env: { LOG_LEVEL: 'warn', ...env } })),
  );
  const tokens = await Promise.all(databases.map(async ({ sql }) => (await issue(sql, 1)).token));
  const agents = gateways.map(() => new Agent({ keepAlive: true, maxSockets: 2 }));
  const all: readonly [Timed[], Timed[]] = [[], []];
  const alive: readonly [Timed[], Timed[]] = [[], []];
  let failed = 0;
  let stopped = false;
  const asking = async (i: 0 | 1, path: string, answers: Timed[]): Promise<void> => {
    const port = Number(new URL(gateways[i]?.url ?? '').port);
    const options = { port, path, headers: { authorization: `Bearer ${tokens[i]}` }, agent: agents[i] };
    // The first answers of a process load and compile its code.
    for (let n = 0; n < 10; n++) await exchange(options);
    while (!stopped) {
      const began = performance.now();
      const { status } = await exchange(options);
      if (status !== 200) failed += 1;
      answers.push({ began, ended: performance.now() });
      await pause(15);
    }
  };
  const request = '/api/v1/conversations?website_id=web_1_1&limit=5';
  const loops = Promise.all(
    ([0, 1] as const).flatMap((i) => [asking(i, request, all[i]), asking(i, '/livez', alive[i])]),
  );
  const [gateway] = gateways;
  const [database] = databases;
  if (gateway === undefined || database === undefined) throw new Error('no gateway has started');
  return {
    gateway,
    database,
    seen: () => ({
      asked: all[0].length,
      slowest: Math.max(0, ...all[0].map(({ began, ended }) => ended - began)),
      excess: excessOf(...all),
      held: excessOf(...alive),
      failed,
    }),
    close: async () => {
      stopped = true;
      await loops;
      for (const agent of agents) agent.destroy();
      await Promise.all(gateways.map((one) => one.end()));
      await Promise.all(databases.map((one) => one.close()));
    },
  };
}

/** The digest of a column of each row of an organization, by external id. */
export async function digestsOf(
  sql: postgres.Sql,
  table: string,
  column: string,
  tenant: number,
): Promise<ReadonlyMap<string, string | null>> {
  const rows = await sql.unsafe<{ id: string; digest: string | null }[]>(
    `SELECT external_id AS id, md5(${column}::text) AS digest FROM platform.${table} WHERE tenant = ${tenant}`,
  );
  return new Map(rows.map(({ id, digest }) => [id, digest]));
}

/** What the neighbour has seen, for the table. */
export const told = ({
  asked,
  slowest,
  excess,
  held,
}: ReturnType<Neighbour['seen']>): Readonly<Record<string, number>> => ({
  'requests of the neighbour': asked,
  'slowest ms': Math.round(slowest),
  'slowest ms in excess of a gateway without poison': Math.round(excess),
  'ms for which the process was held': Math.round(held),
});

/** What became of an item at a door: `stored`, `converted`, `impossible`, or `rejected` with the code. */
export type Outcomes = ReadonlyMap<Poison, string>;

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
    if (some.length === 1) return some.map(({ name }) => name);
    if (performance.now() > end) return [`one of ${some.length} from "${some[0]?.name}" to "${some.at(-1)?.name}"`];
    const middle = Math.ceil(some.length / 2);
    const [first, second] = [await search(some.slice(0, middle)), await search(some.slice(middle))];
    return [...first, ...second];
  };
  return search(items);
}
