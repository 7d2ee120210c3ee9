import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { urlOf } from '../command.ts';
import { issue } from '../credentials.ts';
import { freshDatabase, type TestDatabase } from '../database.ts';
import { type Asking, keepAsking, slowestOf, type Timed, tookOf } from '../hostile/neighbour.ts';
import { type Replica, startReplica } from '../replica.ts';
import type { Poison } from './poison.ts';

/** Milliseconds that another organization's request may take longer than on a gateway without poison. */
export const NEIGHBOUR_MS = 250;

/** Milliseconds between two requests that need no database, short enough to notice a process that is held too long. */
const ALIVE_EVERY = 40;

/** Milliseconds between two requests for conversations. They cost more, and show also what holds the store. */
const ASKED_EVERY = 150;

/** Peak memory of a process in MB. */
export const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;

/** Milliseconds for which the main thread of a process has waited for a processor (the second field of `schedstat`). */
const waitingOf = (pid: number): number => Number(read(`/proc/${pid}/schedstat`).split(' ')[1] ?? 0) / 1e6;

/** Empty if the process has ended. */
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
   * In milliseconds: the slowest answer, and how much slower than on the other gateway. `held` is this excess for an
   * answer that needs no database, so it shows how long the process was held.
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

/** Answers of both gateways within this many milliseconds count as simultaneous. */
const AROUND = 1_000;

/**
 * The largest time by which an answer was slower than every simultaneous answer of the other gateway. Time for which
 * the poisoned gateway waited for a processor does not count: whoever had the processor took it from both gateways. Nor
 * does time for which this process could read no answer. Work of the gateway itself counts in full.
 */
export function excessOf(poisoned: readonly Timed[], clean: readonly Timed[]): number {
  const beyond = poisoned
    .filter((one) => tookOf(one) > NEIGHBOUR_MS / 2)
    .map((one) => {
      const near = clean.filter(({ began, ended }) => ended > one.began - AROUND && began < one.ended + AROUND);
      return tookOf(one) - one.waited - Math.max(one.busy, slowestOf(near));
    });
  return Math.max(0, ...beyond);
}

/**
 * A gateway for the demo organization, the neighbour of the poison. The neighbour sends requests to this gateway, and
 * to a second one without poison. The comparison tells a held gateway from a busy machine.
 */
export async function openNeighbour(env: Readonly<Record<string, string>> = {}): Promise<Neighbour> {
  const databases = await Promise.all([freshDatabase('demo'), freshDatabase('demo')]);
  const gateways = await Promise.all(
    databases.map((database) => startReplica({ databaseUrl: urlOf(database), env: { LOG_LEVEL: 'warn', ...env } })),
  );
  const tokens = await Promise.all(databases.map(async ({ sql }) => (await issue(sql, 1)).token));
  const agents = gateways.map(() => new Agent({ keepAlive: true, maxSockets: 2, timeout: 60_000 }));
  const asking = (path: string, every: number): Asking[] =>
    gateways.map(({ url, pid }, i) => {
      const headers = { authorization: `Bearer ${tokens[i]}` };
      return keepAsking({ port: Number(new URL(url).port), path, headers, agent: agents[i] }, every, () =>
        waitingOf(pid),
      );
    });
  const [all, alive] = [
    asking('/api/v1/conversations?website_id=web_1_1&limit=5', ASKED_EVERY),
    asking('/livez', ALIVE_EVERY),
  ];
  const excess = ([poisoned, clean]: readonly Asking[]): number =>
    excessOf(poisoned?.answers ?? [], clean?.answers ?? []);
  const [gateway] = gateways;
  const [database] = databases;
  if (gateway === undefined || database === undefined) throw new Error('no gateway has started');
  return {
    gateway,
    database,
    seen: () => ({
      asked: all[0]?.answers.length ?? 0,
      slowest: slowestOf(all[0]?.answers ?? []),
      excess: excess(all),
      held: excess(alive),
      failed: [...all, ...alive].reduce((sum, { failed }) => sum + failed, 0),
    }),
    close: async () => {
      await Promise.all([...all, ...alive].map((one) => one.stop()));
      for (const agent of agents) agent.destroy();
      await Promise.all(gateways.map((one) => one.end()));
      await Promise.all(databases.map((one) => one.close()));
    },
  };
}

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

/** Names the items that `passes` refuses, by halving the list for at most `patience` milliseconds. */
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
