import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, type TaskMeta } from 'vitest';
import { faultsOn, WRITE } from '../support/faults/write-faults.ts';
import { DATABASE, type FaultWorld, openFaultWorld, type Told, type Trial } from '../support/faults/writes.ts';
import { itInFull, itOnce, LONG, repeats, times } from '../support/form.ts';
import { type AnyWriteName, BY_POLICY, WRITES } from '../support/ledger/commands.ts';
import { everyPoint, type Messages, type Point } from '../support/pgwire.ts';
import { generator, pickFrom } from '../support/random.ts';
import { type Pool, pool, type Replica, startReplica } from '../support/replica.ts';

/**
 * Tests the writes under faults: the four reviewed ones, those by policy, and any of them that a person must approve. A
 * key has at most one effect, in whatever way a process dies. The store keeps every acknowledged write. All answers to a
 * key are equal. At the end, the totals of the ledger of writes agree. The long form in writes-long.ts injects faults at
 * every point.
 */
const MINUTES = Number(process.env['WRITES_MINUTES'] ?? 0);
const SEED = Number(process.env['WRITES_SEED'] ?? 1);
const LIMIT = 120_000 + MINUTES * 120_000;
/** The quick form uses every third way to lose a connection. */
const EVERY = times(1, 1, 3);

// The messages that `postgres` 3.4.9 and PostgreSQL exchange, for a new statement and for a prepared statement.
const FIRST: Messages = { frontend: 'PDHBES', backend: '1tT2DCZ' };
const PREPARED: Messages = { frontend: 'BES', backend: '2DCZ' };
type Cut = Exclude<Point, string>;
const ALL = [...WRITES, ...BY_POLICY];

let world: FaultWorld;
let spares: Pool;
const slots: [Replica, Replica] = [] as never; // beforeAll fills both slots
let kills = 0;
let random: () => number;
let faults: ReturnType<typeof faultsOn>;
const lines: string[] = [];

const urls = (): string[] => slots.map(({ url }) => url);
const pick = <T>(list: readonly T[]): T => pickFrom(list, random);
const tool = (): AnyWriteName => pick(ALL);
const site = (): 1 | 2 => (random() < 0.5 ? 1 : 2);
/**
 * The points at which the test injects a fault. The point after a message is the same as the point before the next
 * message. The short form therefore leaves out all points after a message, except for the last message.
 */
const points = (messages: Messages): Cut[] =>
  everyPoint(messages).filter(({ side, at, when }) => LONG || when === 'before' || at === messages[side].length);
const label = (at: Point): string => (typeof at === 'string' ? at : `${at.when} ${at.side} ${at.at}`);

async function kill(slot: 0 | 1): Promise<void> {
  const next = replacement();
  await slots[slot].kill9();
  slots[slot] = await next;
  kills++;
}

/**
 * Starts a new replica. A start can fail because the server crashes at the same time. After a failed start, starts the
 * replica again, as a supervisor does.
 */
async function replacement(): Promise<Replica> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await spares.take();
    } catch (error) {
      if (attempt === 20) throw error;
    }
  }
}

beforeAll(async () => {
  random = generator(SEED);
  world = await openFaultWorld(20_000 + MINUTES * 10_000);
  // So a replica has eight connections for writes, and the eight writes of F-01 can run at the same time.
  const options = { databaseUrl: world.proxy.url(DATABASE), env: { GATEWAY_DB_CONNECTIONS: '16' } };
  spares = await pool(2, options);
  slots[0] = await spares.take();
  slots[1] = await spares.take();
  faults = faultsOn({ world, slots, kill, random });
}, LIMIT);

afterEach(() => world.proxy.disarm());

afterAll(async () => {
  process.stdout.write(`${lines.join('\n')}\n`);
  await spares.close();
  await world.close();
});

async function balance(what: string, began: number, meta: TaskMeta = {}): Promise<void> {
  const { wrong, trials, attempts, lostReplies, acknowledged, effects, doubles, lost } = await world.audit();
  meta.shown = { doubles, missed: lost };
  lines.push(
    `${what}: seed ${SEED}, ${((performance.now() - began) / 1000).toFixed(1)} s; so far ${trials} trials, ${attempts} attempts, ` +
      `${lostReplies} lost replies, ${kills} kills, ${acknowledged} acknowledged, ${effects} effects, ${doubles} doubles, ${lost} lost`,
  );
  expect(wrong).toEqual([]);
}

async function done(trial: Trial, from: () => readonly string[] = urls): Promise<void> {
  const told = await world.finish(trial, from);
  // The gateway's own store commits a write completely or not at all. A client therefore always learns the outcome in
  // the end.
  expect(told.status, JSON.stringify(trial)).toBe(200);
}

describe('F-01 kill -9 at every message of each write', () => {
  it('then the other replica ends what was begun, once', { timeout: LIMIT }, async () => {
    const began = performance.now();
    let struck = 0;
    // Each kill costs a start of Node. Only the long form uses all points. The last point is always one of them.
    const every = times(3, 1, 9);
    const striking = points(FIRST).filter((_, i, all) => i % every === 0 || i === all.length - 1);
    for (const at of striking) {
      // One kill interrupts all writes, each on its own connection. The writes change different rows, so no write waits
      // for another before its receipts. The last one asks for an approval.
      const trials = ALL.map((name, i) => world.trial(name, i % 2 === 0 ? 1 : 2));
      trials.push(world.trial('conversation_reply', 2, true));
      let reached = 0;
      let killed: Promise<void> | undefined;
      let release = (): void => undefined;
      const all = new Promise<void>((resolve) => {
        release = resolve;
      });
      world.proxy.arm({
        match: WRITE,
        at,
        action: 'cut',
        times: trials.length,
        run: async () => {
          if (++reached === trials.length) release();
          // Wait until all writes run, but at most 300 ms. A write can wait for a connection or for the receipts of
          // another write, and then they never run at the same time.
          await Promise.race([all, pause(300)]);
          killed ??= kill(0);
          await killed;
        },
      });
      const victim = slots[0].url;
      await Promise.all(trials.map((trial) => world.send(trial, victim)));
      await killed; // after this, a new replica is in the slot
      expect(reached, label(at)).toBeGreaterThan(0);
      struck += reached;
      world.proxy.disarm();
      await Promise.all(trials.map((trial) => done(trial, () => [slots[1].url, slots[0].url])));
    }
    // Not every kill interrupts all writes, because on a busy machine some writes already have their answer.
    expect(struck).toBeGreaterThan(striking.length * ALL.length * 0.4);
    lines.push(`F-01: ${struck} writes struck at ${striking.length} points`);
    await balance('F-01', began);
  });
});

describe('F-03 the connection is lost, the server lives', () => {
  const forget = async (url: string): Promise<void> => {
    await world.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'gateway%'`;
    const headers = { authorization: `Bearer ${world.token}` };
    for (const at of [url, ...urls()]) {
      while (!(await fetch(`${at}/api/v1/websites`, { headers })).ok) await pause(5);
    }
  };

  it('at every message, once or twice, and after the commit: the caller is told 200 at once', {
    timeout: LIMIT,
  }, async () => {
    const began = performance.now();
    // The replica has only one connection, so a statement that runs again is already prepared.
    const env = { GATEWAY_DB_CONNECTIONS: '1' };
    const replica = await startReplica({ databaseUrl: world.proxy.url(DATABASE), env });
    const from = (): string[] => [replica.url];
    const named = ['before-execute', 'sync-then-cut', 'after-sync'] as const;
    const ways = [
      ...points(PREPARED).map((at) => ({ prepared: true, at, times: 1 })),
      ...points(FIRST).map((at) => ({ prepared: false, at, times: 1 })),
      ...named.flatMap((at) => [1, 2].map((times) => ({ prepared: true, at, times }))),
    ];
    for (const [n, name] of ALL.entries()) {
      for (const [i, { prepared, at, times }] of ways.entries()) {
        // There are several ways to lose the connection. The short form tries each way with one of the writes. The long
        // form tries each way with all writes.
        if (i % EVERY !== 0 || (!LONG && i % ALL.length !== n)) continue;
        for (const action of LONG ? (['cut', 'reset'] as const) : ([i % 4 < 2 ? 'cut' : 'reset'] as const)) {
          if (prepared) await done(world.trial(name), from);
          else await forget(replica.url);
          const trial = world.trial(name);
          const trap = world.proxy.arm({ match: WRITE, at, action, times });
          const told = await world.send(trial, replica.url);
          const what = `${name} ${label(at)} ${action} prepared=${prepared} ${JSON.stringify(told)}`;
          expect([told.status, trap.hits()], what).toEqual([200, times]);
          world.proxy.disarm();
          await done(trial, from);
        }
      }
    }
    await replica.end();
    await balance('F-03', began);
  });

  itOnce('every time: 503, and the key brings the one effect later', { timeout: LIMIT }, async () => {
    for (const name of ALL) {
      const trial = world.trial(name);
      world.proxy.arm({ match: WRITE, at: 'after-sync', action: 'cut', times: Number.POSITIVE_INFINITY });
      const told = await world.send(trial, slots[0].url);
      expect([told.status, 'code' in told && told.code]).toEqual([503, 'service_unavailable']);
      world.proxy.disarm();
      await done(trial);
    }
  });
});

describe('F-07 the same key at the same moment', () => {
  it('2 replicas × 25: one effect, the rest replays', { timeout: LIMIT }, async () => {
    const began = performance.now();
    for (let round = 0; round < repeats(24, 200, 4); round++) {
      const trial = world.trial(ALL[round % ALL.length] ?? 'config_plan', site());
      const told = await Promise.all(Array.from({ length: 50 }, (_, i) => world.send(trial, urls()[i % 2] ?? '')));
      expect(told.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
      expect(told.some(({ status }) => status === 200)).toBe(true);
      await done(trial);
    }
    await balance('F-07', began);
  });
});

describe('F-08 a replica that is stopped in the middle', () => {
  itInFull('at every message: the other acts or waits; the sleeper changes nothing', { timeout: LIMIT }, async () => {
    const began = performance.now();
    const zombie = await startReplica({ databaseUrl: world.proxy.url(DATABASE), env: { GATEWAY_DB_CONNECTIONS: '1' } });
    const tools: readonly AnyWriteName[] = LONG
      ? ALL
      : ['visitor_note_add', 'conversation_disposition_set', ...BY_POLICY];
    for (const [i, at] of points(PREPARED).entries()) {
      if (i % EVERY !== 0) continue;
      for (const name of LONG ? tools : [tools[i % tools.length] ?? 'visitor_note_add']) {
        await done(world.trial(name), () => [zombie.url]);
        const trial = world.trial(name);
        const trap = world.proxy.arm({
          match: WRITE,
          at,
          action: 'forward',
          run: async () => {
            await zombie.stop();
            world.proxy.disarm();
            await world.send(trial, slots[1].url);
            await pause(50);
            zombie.cont();
          },
        });
        const late = await world.send(trial, zombie.url);
        expect(trap.hits(), label(at)).toBe(1);
        expect(late.status, `${name} ${label(at)} ${JSON.stringify(trial)}`).toBe(200);
        await done(trial);
      }
    }
    await zombie.end();
    await balance('F-08', began);
  });
});

/** What the clients of `under` have done so far. */
interface Load {
  /** The number of writes that have their last answer. */
  ended(): number;
  /** True once a client has failed. */
  over(): boolean;
}

/**
 * Clients send writes without a pause until `harm` has ended. Each client repeats a write until the client has an
 * answer.
 */
async function under(harm: (load: Load) => Promise<void>, clients = 10, every = 120): Promise<Trial[]> {
  const made: Trial[] = [];
  let ended = 0;
  let over = false;
  const client = async (): Promise<void> => {
    while (!over) {
      const trial = world.trial(tool(), site(), random() < 0.1);
      made.push(trial);
      if (random() < 0.1) await Promise.all(urls().map((url) => world.send(trial, url)));
      await done(trial, () => (random() < 0.5 ? urls() : urls().reverse()));
      ended++;
      await pause(random() * every);
    }
  };
  const running = Array.from({ length: clients }, client);
  const harmed = harm({ ended: () => ended, over: () => over });
  try {
    await Promise.race([harmed, ...running]);
    over = true;
    await Promise.all(running);
  } finally {
    // A client that goes on would write during the next test, and a fault that goes on would harm it.
    over = true;
    await Promise.allSettled([harmed, ...running]);
  }
  return made;
}

const slowest = (trials: readonly Trial[]): number =>
  Math.max(...trials.flatMap(({ told }) => told.map(({ ms }: Told) => ms)));
/** The limit of check F-05: no request hangs for longer. */
const HANG = 10_000;
/**
 * A statement has 3 s for its turn and its answer. While connections end all the time, a call's proof can use two
 * attempts and its write three.
 */
const REPEATED = 5 * 3_000;

/**
 * Repeats the fault `n` times. After each fault, waits until another write has ended: without that, a slow machine
 * completes no write between two faults.
 */
const repeat =
  (n: number, fault: () => Promise<unknown>) =>
  async ({ ended, over }: Load): Promise<void> => {
    for (let i = 0; i < n && !over(); i++) {
      const before = ended();
      await fault();
      while (ended() === before && !over()) await pause(5);
    }
  };

describe('under load', () => {
  it('F-02 replicas killed at random: nothing lost, nothing doubled', { timeout: LIMIT }, async () => {
    const began = performance.now();
    await under(repeat(repeats(4, 30, 1), faults.kill));
    await balance('F-02', began);
  });

  itInFull('F-04 backends ended: all of a write or nothing', { timeout: LIMIT }, async () => {
    const began = performance.now();
    const made = await under(repeat(times(50, 200), faults.terminate), 8, 20);
    expect(slowest(made)).toBeLessThan(REPEATED);
    await balance('F-04', began);
  });

  itInFull('F-05 the server crashes: used again without a restart of a replica', { timeout: LIMIT }, async () => {
    const began = performance.now();
    const pids = slots.map(({ pid }) => pid);
    const made = await under(repeat(times(4, 20), faults.crash), 8, 30);
    expect(slots.map(({ pid }) => pid)).toEqual(pids);
    expect(slowest(made)).toBeLessThan(HANG);
    await balance('F-05', began);
  });

  it('F-21 deadlocks, serialization failures and lock time-outs: never a 500', { timeout: LIMIT }, async () => {
    const began = performance.now();
    const deadlocks = async (): Promise<number> =>
      Number((await world.sql<{ n: string }[]>`SELECT sum(deadlocks) AS n FROM pg_stat_database`)[0]?.n);
    const before = await deadlocks();
    for (const setting of ['', `default_transaction_isolation = 'serializable'`, `lock_timeout = '15ms'`]) {
      if (setting) await world.sql.unsafe(`ALTER DATABASE ${DATABASE} SET ${setting}`);
      await world.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'gateway%'`;
      const harm = async (load: Load): Promise<void> => {
        await repeat(repeats(20, 100, 8), faults.deadlock)(load);
        // A few faults on a slow machine can meet no write. So go on until one was a deadlock.
        while (setting === '' && !load.over() && (await deadlocks()) === before) await faults.deadlock();
      };
      await under(harm, 12, 0);
      await world.sql.unsafe(`ALTER DATABASE ${DATABASE} RESET ALL`);
    }
    await world.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'gateway%'`;
    lines.push(`F-21: ${(await deadlocks()) - before} deadlocks`);
    expect((await deadlocks()) - before).toBeGreaterThan(0);
    await balance('F-21', began);
  });
});

describe('F-26 all of it in any order', () => {
  it('the books balance and doctor finds nothing', { timeout: LIMIT }, async ({ task }) => {
    const began = performance.now();
    const until = Date.now() + (MINUTES * 60_000 || repeats(5_000, 5_000, 1_500));
    const all = Object.values(faults);
    await under(async ({ over }) => {
      while (Date.now() < until && !over()) await pick(all)();
    });
    await balance('F-26', began, task.meta);
    expect(world.doctor().findings).toEqual([]);
  });
});
