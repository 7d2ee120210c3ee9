import { Agent, get } from 'node:http';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.js';
import { addressRanges } from '../../src/flow/address-ranges.js';
import { demoRecords } from '../../src/sources/files/demo.js';
import { importRecords } from '../../src/sources/files/import.js';
import { issue } from '../support/credentials.js';
import { start } from './processes.js';
import { backendsOf, timeOf } from './processor.js';
import { median, quantile } from './report.js';
import { openWorld } from './world.js';
const PORT = 8799;
const ROUNDS = 80;
const REQUESTS = 500;
const CONNECTIONS = 8;
/** The most ranges that a credential can have. The caller is in the last one. */
const RANGES = [...Array.from({ length: 19 }, (_, i) => `203.0.${i}.0/24`), '127.0.0.0/8'];
const OFF = ['conversation_disposition_set', 'contacts_list', 'search', 'visitor_note_add', 'conversations_list'];
/** Microseconds of processor time of one check of an address. */
function checked(addresses) {
    const admits = addressRanges(RANGES);
    const before = process.cpuUsage();
    for (let i = 0; i < 1_000_000; i++)
        admits?.(addresses[i & 1]);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000_000;
}
/**
 * Compares reads of a contact by two credentials in one interleaved run: one with twenty ranges of addresses, whose app
 * has five operations switched off, and one without either.
 */
export async function allow(store, print) {
    const { db, sql, close } = await openWorld(store, 'gateway');
    await importRecords(db, demoRecords(new Date()), {});
    const [bounded, free] = [await issue(sql, 1), await issue(sql, 1)];
    await sql `UPDATE gateway.credential SET allow_ip = ${RANGES} WHERE id = ${bounded.credential}`;
    await sql `UPDATE gateway.app SET switched_off = ${OFF} WHERE id = ${bounded.app}`;
    await sql `ANALYZE`;
    const [contact] = await sql `SELECT id FROM platform.contact WHERE tenant = 1 AND site = 1 AND NOT deleted LIMIT 1`;
    const url = `postgres://postgres@${encodeURIComponent(store.host)}:${store.port}/gateway`;
    const script = fileURLToPath(new URL('dist/test/bench/booked.js', packageRoot));
    const server = await start(script, ['on', String(PORT), url], {});
    const backends = [];
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    const path = `/api/v1/contacts/ctc_1_1_${contact?.['id']}`;
    const ask = (token) => new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}` };
        get({ host: '127.0.0.1', port: PORT, path, agent, headers }, (response) => {
            if (response.statusCode !== 200)
                reject(new Error(`${path}: ${response.statusCode}`));
            response.resume().on('end', resolve);
        }).on('error', reject);
    });
    const round = async (token) => {
        const pids = [server.process.pid ?? 0, ...backends];
        const before = timeOf(pids);
        let left = REQUESTS;
        const caller = async () => {
            while (left-- > 0)
                await ask(token);
        };
        await Promise.all(Array.from({ length: CONNECTIONS }, caller));
        return (timeOf(pids) - before) / REQUESTS;
    };
    try {
        for (let i = 0; i < 10; i++)
            for (const { token } of [bounded, free])
                await round(token);
        backends.push(...(await backendsOf(sql)));
        const times = { bounded: [], free: [] }; // filled below
        for (let i = 0; i < ROUNDS; i++)
            for (const which of i % 2 === 0 ? ['bounded', 'free'] : ['free', 'bounded'])
                times[which].push(await round((which === 'free' ? free : bounded).token));
        const ratios = times.bounded.map((one, i) => one / (times.free[i] ?? one));
        const quick = (all) => quantile(all, 0.25);
        print(`contact, ${RANGES.length} ranges and ${OFF.length} operations off: ${median(times.bounded).toFixed(0)} µs of processor time, ` +
            `without ${median(times.free).toFixed(0)} µs; median of ${ROUNDS} ratios ${median(ratios).toFixed(3)}, ` +
            `ratio of the quickest quarters ${(quick(times.bounded) / quick(times.free)).toFixed(3)}`);
        for (const [name, addresses] of [
            ['one address', ['127.0.0.1', '127.0.0.1']],
            ['two in turn', ['127.0.0.1', '127.0.0.2']],
        ])
            print(`a check of ${name}: ${checked(addresses).toFixed(3)} µs`);
    }
    finally {
        agent.destroy();
        await server.stop();
        await close();
    }
}
//# sourceMappingURL=allow.js.map