import { setTimeout as pause } from 'node:timers/promises';
import { pickFrom } from '../random.js';
export const WRITE = /gateway\.write_batch/;
export const faultsOn = ({ world, slots, kill, random }) => ({
    kill: async () => {
        await pause(random() * 50);
        await kill(random() < 0.5 ? 0 : 1);
    },
    terminate: async () => {
        await world.sql `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'gateway%'
      AND random() < 0.7`;
        await pause(20 + random() * 80);
    },
    crash: async () => {
        await world.crash();
        await pause(300 + random() * 500);
    },
    loseReplies: async () => {
        world.proxy.arm({
            match: WRITE,
            at: pickFrom(['after-sync', 'sync-then-cut', 'before-execute'], random),
            action: pickFrom(['cut', 'reset'], random),
            times: 5,
        });
        await pause(100);
        world.proxy.disarm();
    },
    freeze: async () => {
        const replica = pickFrom(slots, random);
        await replica.stop();
        await pause(random() * 1_500);
        replica.cont();
        await pause(200);
    },
    /** Locks the same rows as the writes in the opposite order, on both websites. */
    deadlock: async () => {
        const [one, two] = random() < 0.5 ? [1, 2] : [2, 1];
        await world.sql
            .unsafe(`DO $$ BEGIN
        PERFORM 1 FROM gateway.journal_head WHERE site = ${one} FOR UPDATE; PERFORM pg_sleep(0.02);
        PERFORM 1 FROM platform.native_id WHERE kind = 'note' AND site = ${one} FOR UPDATE; PERFORM pg_sleep(0.01);
        PERFORM 1 FROM gateway.journal_head WHERE site = ${two} FOR UPDATE; PERFORM pg_sleep(0.02);
        PERFORM 1 FROM platform.native_id WHERE kind = 'note' AND site = ${two} FOR UPDATE; END $$`)
            .catch(() => undefined); // PostgreSQL may choose this transaction as the victim of the deadlock
    },
});
//# sourceMappingURL=write-faults.js.map