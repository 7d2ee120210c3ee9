import { setTimeout as pause } from 'node:timers/promises';
import { it } from 'vitest';
import { type Fault, survive } from '../support/faults/patroni-world.ts';
import { withoutDisks } from '../support/machine.ts';
import { type PatroniNode, withoutPatroni } from '../support/patroni.ts';

/**
 * High availability on a real Patroni: its leader is killed, frozen and replaced while two gateways serve, one through
 * HAProxy and one with all hosts in DATABASE_URL. Then the disk of one machine fills. The long form prints the tables of
 * docs/high-availability.md: `PATRONI_KILLS=10 npx vitest run test/faults/patroni.test.ts`
 */
const KILLS = Number(process.env['PATRONI_KILLS'] ?? 3);
const LONG = KILLS > 3;

/** Megabytes of a node's disk. The store and its log need some hundred. */
const DISK = 400;

const without = withoutPatroni ?? withoutDisks;
if (without !== undefined) process.stdout.write(`${without}\n`);

const KILL: Fault = {
  what: 'leader killed',
  harm: async (_, leader) => {
    await leader.kill();
    return () => leader.start();
  },
};
const SWITCHOVER: Fault = {
  what: 'switchover',
  harm: async (cluster, leader) => {
    await cluster.switchover(leader);
    return () => undefined;
  },
};
const frozen = (what: 'patroni' | 'all'): Fault => ({
  what: what === 'all' ? 'leader frozen' : 'only its Patroni frozen',
  harm: async (_, leader) => {
    leader.freeze(what);
    return () => leader.thaw();
  },
});
/** Milliseconds until an operator acts. */
const NOTICED = 5_000;

/** PostgreSQL lives on, and refuses what needs room. An operator makes another node the leader. */
const FULL: Fault = {
  what: 'disk of the leader full, and a switchover 5 s later',
  harm: async (cluster, leader) => {
    leader.disk?.fill();
    await pause(NOTICED);
    await cluster.switchover(leader);
    return () => leader.disk?.free();
  },
};

/** Begins the next file of the log. PostgreSQL ends if it has no room. */
const nextFile = (leader: PatroniNode): Promise<unknown> =>
  leader
    .with('postgres', (sql) => sql`SELECT pg_logical_emit_message(false, 'next', 'file'), pg_switch_wal()`)
    .catch(() => undefined);

/** With little to write, its log would have room for minutes, and after a crash again. So the test begins new files of it. */
const LOG_FULL: Fault = {
  what: 'disk of the leader full, also for the log',
  harm: async (cluster, leader) => {
    leader.disk?.fill();
    let replaced = false;
    const next = cluster.leader(leader).finally(() => {
      replaced = true;
    });
    while (!replaced) {
      await nextFile(leader);
      await pause(50);
    }
    await next;
    return () => leader.disk?.free();
  },
};

const STANDBY_FULL: Fault = {
  what: 'disk of the synchronous standby full',
  promotes: false,
  harm: async (cluster, leader) => {
    const standby = await cluster.synchronous();
    standby.disk?.fill();
    for (let n = 0; n < 60; n++) await nextFile(leader);
    return () => standby.disk?.free();
  },
};

const times = (n: number, fault: Fault): readonly Fault[] => Array.from({ length: n }, () => fault);
const FAULTS = [
  ...times(KILLS, KILL),
  ...times(LONG ? 3 : 1, SWITCHOVER),
  ...times(LONG ? 2 : 1, frozen('all')),
  ...times(LONG ? 2 : 1, frozen('patroni')),
  ...(withoutDisks === undefined ? [FULL, STANDBY_FULL, LOG_FULL] : []),
];

it.skipIf(withoutPatroni !== undefined)(
  'while leaders are killed, frozen and replaced, and disks fill, no acknowledged write is lost or doubled, and a demoted leader answers nobody',
  () => survive(FAULTS, withoutDisks === undefined ? { cluster: { disk: DISK } } : {}),
  1_200_000,
);
