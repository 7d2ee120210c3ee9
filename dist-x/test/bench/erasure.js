import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { packageRoot } from '../../src/config/package.js';
import { importRecords } from '../../src/sources/files/import.js';
import { issue } from '../support/credentials.js';
import { times } from '../support/form.js';
import { catalogues, people, TURNS } from './people.js';
import { start } from './processes.js';
import { openWorld } from './world.js';
const PORT = 8797;
const script = (name) => fileURLToPath(new URL(`dist/test/bench/${name}.js`, packageRoot));
/** Messages of the people who are erased: three while neighbours read, the last one with a kill in the middle. */
const PEOPLE = [10_000, 10_000, 10_000, times(100_000, 1_000_000)];
const OTHERS = 1_000;
/** Readers of another organization. The first pace leaves the machine room, the second takes all of it. */
const CONNECTIONS = 8;
const PACES = [400, undefined];
const QUIET = 5;
const KILLED_AFTER = 3_000;
/** Erases people with many messages while callers of another organization read. Each erasure has a process of its own. */
export async function erasure(store, print) {
    const { db, sql, target, close } = await openWorld(store, 'gateway');
    await importRecords(db, records(), {});
    await sql `VACUUM ANALYZE`;
    const ids = await sql `SELECT 'ctc_' || tenant || '_' || site || '_' || id AS id FROM platform.contact
    WHERE external_id LIKE 'erased %' ORDER BY external_id`;
    const [reader] = await sql `
    SELECT tenant::integer, '/api/v1/contacts/ctc_' || tenant || '_' || site || '_' || id AS path FROM platform.contact WHERE external_id = 'reader'`;
    if (!reader || ids.length !== PEOPLE.length)
        throw new Error('the people are missing');
    const { token } = await issue(sql, reader.tenant);
    const url = `postgres://postgres@${encodeURIComponent(store.host)}:${store.port}/gateway`;
    const server = await start(script('booked'), ['on', String(PORT), url], {});
    const reading = (pace) => {
        const paced = pace === undefined ? {} : { overallRate: pace };
        let end = () => undefined;
        const result = new Promise((resolve, reject) => {
            const cannon = autocannon({
                url: `http://127.0.0.1:${PORT}${reader.path}`,
                headers: { authorization: `Bearer ${token}` },
                ...{ connections: CONNECTIONS, duration: 600, ...paced },
            }, (error, done) => (error ? reject(error) : resolve(done)));
            end = () => cannon.stop();
        });
        return () => {
            end();
            return result;
        };
    };
    const begin = async (id) => {
        const child = spawn(process.execPath, [script('erasing'), JSON.stringify(target), id]);
        const told = text(child.stdout);
        await once(child.stderr, 'data');
        return { child, erased: async () => JSON.parse(await told) };
    };
    try {
        for (const pace of [...PACES, PACES[0]]) {
            const id = ids.shift()?.id ?? '';
            const calm = reading(pace);
            await pause(QUIET * 1000);
            const quiet = (await calm()).latency;
            const { child, erased } = await begin(id);
            const busy = reading(pace);
            await pause(200);
            child.stdin.write('go');
            const one = await erased();
            const meanwhile = await busy();
            print(`${told(one)}; reads of others (${pace ?? meanwhile.requests.average.toFixed(0)}/s) p50 ${quiet.p50} to ` +
                `${meanwhile.latency.p50} ms, p99 ${quiet.p99} to ${meanwhile.latency.p99} ms, ${meanwhile.non2xx + meanwhile.errors} errors`);
        }
        const id = ids.shift()?.id ?? '';
        const first = await begin(id);
        first.child.stdin.write('go');
        await pause(KILLED_AFTER);
        first.child.kill('SIGKILL');
        const [row] = await sql `SELECT coalesce((counts->>'messages')::integer, 0) AS n FROM gateway.erasure WHERE subject = ${id}`;
        const second = await begin(id);
        second.child.stdin.write('go');
        print(`killed after ${KILLED_AFTER / 1000} s and ${row?.n} messages, then: ${told(await second.erased())}`);
        const [left] = await sql `SELECT count(*)::integer AS n FROM platform.message WHERE text LIKE '% erased'`;
        print(`texts left: ${left?.n}`);
    }
    finally {
        await server.stop();
        await close();
    }
}
const told = (one) => `${one.messages} messages in ${one.seconds.toFixed(2)} s: ${one.statements} statements, the longest ${one.longest.toFixed(0)} ms, ` +
    `${one.cpu.toFixed(2)} s of CPU, ${one.before.toFixed(0)} MB before and ${one.peak.toFixed(0)} MB at most`;
/** The people who are erased, others of their website, and a reader in another organization. */
function* records() {
    yield* catalogues();
    yield* people('erased', PEOPLE);
    yield* people('other', new Array(OTHERS).fill(TURNS));
}
//# sourceMappingURL=erasure.js.map