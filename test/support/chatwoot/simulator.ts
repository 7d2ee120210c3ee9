import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { generator } from '../random.ts';
import { ACTIONS, type Kind } from './actions.ts';
import type { Rails } from './rails.ts';
import { sweep } from './rails-destroy.ts';
import { isLost, isRefused, railsTime, run } from './script.ts';
import { readState, type State } from './state.ts';

export interface Action {
  readonly n: number;
  readonly kind: Kind;
  readonly account: number;
  readonly seed: number;
}

/** A committed change that a probe can look for in the gateway. `at` is a time of performance.now(). */
export interface Committed {
  readonly what: 'message' | 'redacted' | 'gone';
  readonly account: number;
  readonly id: number;
  readonly at: number;
}

export interface Simulation {
  readonly seed: number;
  /** The run makes `seconds * rate` actions. It takes longer if PostgreSQL is down. */
  readonly seconds: number;
  /** Actions per second, each with two to three transactions on average. */
  readonly rate: number;
  /** The accounts that change. The default is 1 and 2. */
  readonly accounts?: readonly number[];
  /** Concurrent Rails processes. The default is 4. `sql` needs this many connections and four more. */
  readonly writers?: number;
  /** The largest difference between the processes' clocks in milliseconds. The default is 0. */
  readonly skew?: number;
  readonly without?: readonly Kind[];
  readonly acted?: (action: Action) => void;
  readonly committed?: (what: Committed) => void;
}

export interface Simulated {
  readonly actions: number;
  /** The actions of each kind that changed something. */
  readonly kinds: ReadonlyMap<Kind, number>;
  readonly transactions: number;
  readonly jobs: number;
  /** Actions that found no row to change. */
  readonly idle: number;
  /** Transactions that PostgreSQL refused: deadlocks and duplicates. */
  readonly refused: number;
  /** Actions whose outcome is unknown, because the server died. */
  readonly forgotten: number;
  /** Rows that the last step removed. Their jobs were lost, because the outcome of a commit was unknown. */
  readonly swept: number;
  readonly seconds: number;
}

interface Job {
  readonly due: number;
  readonly account: number;
  readonly work: (rails: Rails) => Promise<void>;
}

const FRESH = 1_000;

/** The actions of a run: every kind once, then the mix. The same seed gives the same actions. */
export function* plan({ seed, seconds, rate, accounts = [1, 2], without = [] }: Simulation): Generator<Action> {
  const random = generator(seed);
  const kinds = (Object.keys(ACTIONS) as Kind[]).filter((kind) => !without.includes(kind)); // the keys of the table are the kinds
  const weighted = kinds.flatMap((kind) => Array.from({ length: ACTIONS[kind][0] }, () => kind));
  const first = kinds.map((kind) => ({ kind, at: random() })).sort((a, b) => a.at - b.at);
  for (let n = 0; n < Math.round(seconds * rate); n++) {
    const mixed = weighted[Math.floor(random() * weighted.length)] ?? 'incoming';
    const account = accounts[Math.floor(random() * accounts.length)] ?? 1;
    yield { n, kind: first[n]?.kind ?? mixed, account, seed: Math.floor(random() * 2 ** 32) };
  }
}

/** Runs the actions, and ends at rest: no open transaction, no job in the queue, no row that lost its owner. */
export async function simulate(sql: postgres.Sql, options: Simulation): Promise<Simulated> {
  const { rate, writers = 4, skew = 0, accounts = [1, 2] } = options;
  const counts = { actions: 0, transactions: 0, jobs: 0, idle: 0, refused: 0, forgotten: 0, swept: 0 };
  const kinds = new Map<Kind, number>();
  const states = new Map<number, { readonly state: State; readonly at: number }>();
  const queue: Job[] = [];
  const late = new Set<Promise<void>>();
  const began = performance.now();
  const chance = generator(options.seed + 1);
  let shift = 0;
  let failure: unknown;

  const railsOf = (account: number, random: () => number, clock: number): Rails => ({
    commit: async (script) => {
      const rows = await run(sql, script);
      counts.transactions++;
      return rows as never; // the caller of commit knows the columns of its own statement
    },
    later: (work) => {
      queue.push({ due: performance.now() + 20 + chance() * 1_200, account, work });
    },
    now: () => railsTime(Date.now() + clock, Math.floor(random() * 1_000)),
    random,
    committed: (what, id) => options.committed?.({ what, id, account, at: performance.now() }),
  });

  const stateOf = async (account: number): Promise<State> => {
    const known = states.get(account);
    if (known !== undefined && performance.now() - known.at < FRESH) return known.state;
    const state = await readState(sql, account, chance());
    states.set(account, { state, at: performance.now() });
    return state;
  };

  /** Waits until the server answers. The outage does not count for the rate. */
  const outage = async (): Promise<void> => {
    const from = performance.now();
    states.clear();
    while (!(await answers(sql))) await pause(100);
    shift += performance.now() - from;
  };

  const act = async (action: Action, writer: number): Promise<void> => {
    try {
      const state = await stateOf(action.account);
      const world = railsOf(action.account, generator(action.seed), (writer / writers - 0.5) * 2 * skew);
      const done = await ACTIONS[action.kind][1](world, state);
      if (done) kinds.set(action.kind, (kinds.get(action.kind) ?? 0) + 1);
      else counts.idle++;
      options.acted?.(action);
    } catch (error) {
      if (isRefused(error)) counts.refused++;
      else if (isLost(error)) {
        counts.forgotten++;
        await outage();
      } else failure ??= new Error(`the action ${action.kind} failed`, { cause: error });
    }
  };

  const labour = async (job: Job): Promise<void> => {
    try {
      await job.work(railsOf(job.account, chance, 0));
      counts.jobs++;
    } catch (error) {
      if (!isRefused(error) && !isLost(error)) {
        failure ??= new Error('a job failed', { cause: error });
        return;
      }
      queue.push({ ...job, due: performance.now() + 300 });
      if (isLost(error)) await outage();
    }
  };

  const actions = plan(options);
  const write = async (writer: number): Promise<void> => {
    for (const action of actions) {
      const wait = began + shift / writers + (action.n * 1000) / rate - performance.now();
      if (wait > 1) await pause(wait);
      if (failure !== undefined) return;
      counts.actions++;
      if (!action.kind.startsWith('late')) {
        await act(action, writer);
        continue;
      }
      // The transaction stays open while the other actions continue.
      const open: Promise<void> = act(action, writer).finally(() => late.delete(open));
      late.add(open);
    }
  };
  let writing = true;
  const work = async (): Promise<void> => {
    while (writing || queue.length > 0 || late.size > 0) {
      const at = queue.findIndex(({ due }) => !writing || due <= performance.now());
      const [job] = at < 0 ? [] : queue.splice(at, 1);
      if (job === undefined) await pause(20);
      else await labour(job);
      if (failure !== undefined) return;
    }
  };

  const workers = [work(), work()];
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  await Promise.all(late);
  writing = false;
  await Promise.all(workers);
  if (failure !== undefined) throw failure;
  for (let left = 1; left > 0; counts.swept += left) left = await swept(accounts[0] ?? 1);
  return { ...counts, kinds, seconds: (performance.now() - began) / 1000 };

  async function swept(account: number): Promise<number> {
    try {
      return await sweep(railsOf(account, chance, 0));
    } catch (error) {
      if (!isLost(error)) throw error;
      await outage();
      return 1;
    }
  }
}

const answers = (sql: postgres.Sql): Promise<boolean> =>
  sql`SELECT 1`.then(
    () => true,
    () => false,
  );
