import { it } from 'vitest';
import { type Fault, survive } from '../support/faults/patroni-world.ts';
import { withoutPatroni } from '../support/patroni.ts';

/**
 * High availability on a real Patroni: its leader is killed, frozen and replaced while two gateways serve, one through
 * HAProxy and one with all hosts in DATABASE_URL. The long form prints the table of docs/high-availability.md:
 * `PATRONI_KILLS=10 npx vitest run test/faults/patroni.test.ts`
 */
const KILLS = Number(process.env['PATRONI_KILLS'] ?? 3);
const LONG = KILLS > 3;

if (withoutPatroni !== undefined) process.stdout.write(`${withoutPatroni}\n`);

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
const times = (n: number, fault: Fault): readonly Fault[] => Array.from({ length: n }, () => fault);
const FAULTS = [
  ...times(KILLS, KILL),
  ...times(LONG ? 3 : 1, SWITCHOVER),
  ...times(LONG ? 2 : 1, frozen('all')),
  ...times(LONG ? 2 : 1, frozen('patroni')),
];

it.skipIf(withoutPatroni !== undefined)(
  'while leaders are killed, frozen and replaced, no acknowledged write is lost or doubled, and a demoted leader answers nobody',
  () => survive(FAULTS),
  900_000,
);
