import { expect, it } from 'vitest';
import { type Fault, survive } from '../support/faults/patroni-world.ts';
import { clockAhead, withoutClocks } from '../support/machine.ts';
import { withoutPatroni } from '../support/patroni.ts';

/**
 * What happens while the clocks of a Patroni cluster's machines are an hour apart. Each row is printed for
 * docs/high-availability.md: `npx vitest run test/faults/patroni-machines.test.ts`. patroni.test.ts fills the disks.
 */
const HOUR = 3_600;

const without = withoutPatroni ?? withoutClocks;
if (without !== undefined) process.stdout.write(`${without}\n`);

it.skipIf(without !== undefined)(
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
    /** The first leader has the right time. Whom ever Patroni chooses, the first two jumps lead into both directions. */
    function* switchovers(): Generator<Fault> {
      yield switchover;
      yield switchover;
      // Unless a busy machine has changed the leader before or between them.
      if (jumps.every((jump) => jump > 0) || jumps.every((jump) => jump < 0)) yield switchover;
    }
    await survive(switchovers(), {
      cluster: { clocks: [0, HOUR, -HOUR] },
      env: [clockAhead(HOUR), clockAhead(-HOUR)],
    });
    expect(Math.max(...jumps)).toBeGreaterThanOrEqual(HOUR);
    expect(Math.min(...jumps)).toBeLessThanOrEqual(-HOUR);
  },
  600_000,
);
