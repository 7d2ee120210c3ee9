import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { pickFrom } from '../random.js';
import { startReplica } from '../replica.js';
import { STORE } from './sources.js';
/** Milliseconds of a lease, and until the next search for free sources. */
const LEASE = 10_000 + 1_500;
const SHORT_LEASE = 1_000 + 1_500;
/** Milliseconds until a failed source is tried again. */
const RETRY = 5_000 + 1_500;
/** Milliseconds. A change shortly before a fault can wait for its end too. */
const BEFORE = 2_000;
/** A file about the process in /proc. Empty if the process has ended. */
function about({ pid }, name) {
    try {
        return readFileSync(`/proc/${pid}/${name}`, 'utf8');
    }
    catch {
        return ''; // the process has ended
    }
}
const memoryOf = (one) => Number(/VmRSS:\s+(\d+)/.exec(about(one, 'status'))?.[1] ?? 0) / 1024;
/** The kernel counts in hundredths of a second. */
const cpuOf = (one) => {
    const fields = about(one, 'stat').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100;
};
/** Starts two gateways. `impatient` shortens a dead gateway's lease, so that the short form does not wait long. */
export async function openFleet({ servers, sql, sources }, { impatient, keys, random }) {
    const lease = impatient ? SHORT_LEASE : LEASE;
    const windows = [];
    const all = [];
    let roles = 0;
    const start = async () => {
        const role = `gateway_${++roles}`;
        await sql.unsafe(`CREATE ROLE ${role} SUPERUSER LOGIN`);
        for (let attempt = 1;; attempt++) {
            try {
                const replica = await startReplica({
                    databaseUrl: servers.store.url(STORE).replace('postgres@', `${role}@`),
                    env: { GATEWAY_KEYS: keys, LOG_LEVEL: 'warn' },
                });
                const gateway = { ...replica, role };
                all.push(gateway);
                return gateway;
            }
            catch (error) {
                // The store can be down now. Start again, as a supervisor does.
                if (attempt === 20)
                    throw error;
                await pause(500);
            }
        }
    };
    const living = await Promise.all([start(), start()]);
    let most = 0;
    const cpu = new Map();
    const watch = setInterval(() => {
        for (const one of living) {
            most = Math.max(most, memoryOf(one));
            cpu.set(one.pid, Math.max(cpu.get(one.pid) ?? 0, cpuOf(one)));
        }
    }, 500);
    const holder = async () => {
        const [row] = await sql `
      SELECT t.who FROM public.taken t WHERE t.source = ${sources[0]?.id ?? ''} ORDER BY t.epoch DESC LIMIT 1`;
        return Math.max(0, living.findIndex(({ role }) => role === row?.who));
    };
    /** Lets the leases of a gateway end soon. A living gateway renews its leases every three seconds. */
    const expire = async (role) => {
        if (!impatient)
            return;
        await sql `UPDATE gateway.source s SET lease_until = least(lease_until, now() + interval '1 second')
      WHERE lease_until > now() AND (SELECT t.who FROM public.taken t WHERE t.source = s.id ORDER BY t.epoch DESC LIMIT 1) = ${role}`;
    };
    const during = async (what, after, work) => {
        const from = performance.now() - BEFORE;
        await work();
        windows.push({ what, from, until: performance.now() + after });
    };
    return {
        windows,
        spent: () => ({
            most: Math.round(most),
            last: living.map((one) => Math.round(memoryOf(one))),
            cpu: [...cpu.values()].reduce((sum, seconds) => sum + seconds, 0),
        }),
        killHolder: async () => {
            const at = await holder();
            const killed = living[at];
            if (killed === undefined)
                throw new Error('no gateway lives');
            await pause(random() * 300);
            await during('kill of a gateway', lease, async () => void (await killed.kill9()));
            await expire(killed.role);
            living[at] = await start();
        },
        freezeHolder: async (milliseconds) => {
            const frozen = living[await holder()];
            if (frozen === undefined)
                throw new Error('no gateway lives');
            const from = performance.now() - BEFORE;
            await frozen.stop();
            await expire(frozen.role);
            await pause(milliseconds);
            frozen.cont();
            windows.push({ what: 'stop of a gateway', from, until: from + BEFORE + lease });
        },
        crash: async (server) => {
            await during(`crash of the server of ${server}`, RETRY, async () => {
                await servers[server].kill();
                await pause(pickFrom([100, 500, 1_000], random));
                await servers[server].start();
            });
        },
        logs: () => all.map((one) => one.log()).join(''),
        takeovers: async () => {
            const [row] = await sql `SELECT count(*)::integer AS n FROM (
        SELECT who, lag(who) OVER (PARTITION BY source ORDER BY epoch) AS before FROM public.taken) t WHERE who <> before`;
            return row?.n ?? 0;
        },
        close: async () => {
            clearInterval(watch);
            await Promise.all(all.map((one) => one.kill9()));
        },
    };
}
//# sourceMappingURL=source-faults.js.map