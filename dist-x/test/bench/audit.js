import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.js';
import { demoRecords } from '../../src/sources/files/demo.js';
import { importRecords } from '../../src/sources/files/import.js';
import { issue } from '../support/credentials.js';
import { start } from './processes.js';
import { median } from './report.js';
import { shoot } from './shots.js';
import { openWorld } from './world.js';
const PORTS = { on: 8795, off: 8796 };
const ROUNDS = 9;
const SECONDS = 1.5;
/** The processor time of processes, in microseconds. The kernel counts in steps of 10 ms. */
export function timeOf(pids) {
    const fields = pids.map((pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []);
    return fields.reduce((sum, one) => sum + (Number(one[11]) + Number(one[12])) * 10_000, 0);
}
/** The PostgreSQL processes that serve connections of this name, such as `gateway-audit`. */
function backendsOf(children) {
    const running = new Set(readdirSync('/proc'));
    return children.filter((pid) => running.has(String(pid)));
}
/**
 * Compares reads of a contact with audit records and without them, in one interleaved run. On a busy machine the
 * processor time of a request says more than the rate.
 */
export async function audit(store, print) {
    const { db, sql, close } = await openWorld(store, 'gateway');
    await importRecords(db, demoRecords(new Date()), {});
    await sql `ANALYZE`;
    const { token } = await issue(sql, 1);
    const [contact] = await sql `SELECT id FROM platform.contact WHERE tenant = 1 AND site = 1 AND NOT deleted LIMIT 1`;
    const path = `/api/v1/contacts/ctc_1_1_${contact?.['id']}`;
    const script = fileURLToPath(new URL('dist/test/bench/booked.js', packageRoot));
    const url = `postgres://postgres@${encodeURIComponent(store.host)}:${store.port}/gateway`;
    const rounds = { on: [], off: [] }; // filled below
    const servers = {
        on: await start(script, ['on', String(PORTS.on), url], {}),
        off: await start(script, ['off', String(PORTS.off), url], {}),
    };
    const round = async (state, seconds) => {
        const pids = [servers[state].process.pid];
        const rows = await sql `SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()`;
        const backends = backendsOf(rows.map(({ pid }) => pid));
        const [own, theirs] = [timeOf(pids), timeOf(backends)];
        const { rate } = await shoot({ port: PORTS[state], path }, token, seconds);
        const calls = rate * seconds;
        return { rate, gateway: (timeOf(pids) - own) / calls, store: (timeOf(backends) - theirs) / calls };
    };
    try {
        for (const state of ['on', 'off', 'on', 'off'])
            await round(state, 1);
        for (let i = 0; i < ROUNDS; i++)
            for (const state of i % 2 === 0 ? ['on', 'off'] : ['off', 'on'])
                rounds[state].push(await round(state, SECONDS));
        for (const state of ['on', 'off']) {
            const of = (member) => median(rounds[state].map((one) => one[member]));
            print(`contact, audit records ${state.padEnd(4)} ${Math.round(of('rate'))}/s  gateway ${Math.round(of('gateway'))} µs` +
                `  PostgreSQL ${Math.round(of('store'))} µs a request`);
        }
        const ratios = rounds.on.map((one, i) => {
            const other = rounds.off[i];
            return (one.gateway + one.store) / (other ? other.gateway + other.store : 1);
        });
        print(`contact, audit records: processor time ${median(ratios).toFixed(3)} times that without` +
            ` (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`);
    }
    finally {
        await Promise.all([servers.on.stop(), servers.off.stop()]);
        await close();
    }
}
//# sourceMappingURL=audit.js.map