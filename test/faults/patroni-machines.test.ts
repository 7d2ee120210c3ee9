import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Fault, survive } from '../support/faults/patroni-world.ts';
import { clockAhead, withoutClocks, withoutDisks } from '../support/machine.ts';
import { type PatroniNode, withoutPatroni } from '../support/patroni.ts';

/**
 * What happens to one machine of a Patroni cluster without an end of its processes: its disk fills, or its clock is an hour
 * wrong. Each row is printed for docs/high-availability.md: `npx vitest run test/faults/patroni-machines.test.ts`
 */
const HOUR = 3_600;
/** Megabytes of a node's disk. The store and its log need some hundred. */
const DISK = 400;

for (const why of withoutPatroni === undefined ? [withoutDisks, withoutClocks] : [withoutPatroni])
  if (why !== undefined) process.stdout.write(`${why}\n`);

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

describe.skipIf(withoutPatroni !== undefined)('one machine of three', () => {
  it.skipIf(withoutDisks !== undefined)(
    'when a disk fills, another node serves, and no acknowledged write is lost or doubled',
    () => survive([FULL, STANDBY_FULL, LOG_FULL], { cluster: { disk: DISK } }),
    600_000,
  );

  it.skipIf(withoutClocks !== undefined)(
    'when the clocks of the nodes and of the gateways are an hour apart, nothing waits for an hour',
    async () => {
      /** By how many seconds PostgreSQL's clock went on at each switchover. */
      const jumps: number[] = [];
      const switchover: Fault = {
        what: 'switchover to another time',
        harm: async (cluster, leader) => {
          await cluster.switchover(leader);
          const next = await cluster.leader(leader);
          jumps.push(next.ahead - leader.ahead);
          return () => undefined;
        },
      };
      await survive([switchover, switchover, switchover], {
        cluster: { clocks: [0, HOUR, -HOUR] },
        env: [clockAhead(HOUR), clockAhead(-HOUR)],
      });
      // Three nodes with three times: at least one jump leads forward and one back, whom ever Patroni chooses.
      expect(Math.max(...jumps)).toBeGreaterThanOrEqual(HOUR);
      expect(Math.min(...jumps)).toBeLessThanOrEqual(-HOUR);
    },
    600_000,
  );
});
