import { importRecords } from '../../src/sources/files/import.js';
import { timeOf } from './audit.js';
import { catalogues, people, TURNS } from './people.js';
import { median } from './report.js';
import { openWorld } from './world.js';
const FILLED = 5_000;
const ROUNDS = 5;
const PEOPLE = 1_000;
const DEFINITION = `CREATE INDEX message_visitor ON platform.message (tenant, site, author_id) WHERE author_type = 'visitor'`;
/** Compares imports with the index message_visitor, which erasures need, and without, in turn, into one filled store. */
export async function indexes(store, print) {
    const { db, sql, close } = await openWorld(store, 'gateway');
    await importRecords(db, [...catalogues(), ...people('filled', new Array(FILLED).fill(TURNS))]);
    const rows = await sql `SELECT pid FROM pg_stat_activity WHERE application_name LIKE '%bench%'`;
    const pids = rows.map(({ pid }) => pid);
    const round = async (name, indexed) => {
        await sql.unsafe(`DROP INDEX IF EXISTS platform.message_visitor; ${indexed ? DEFINITION : ''}`);
        await sql `VACUUM ANALYZE platform.message`;
        await sql `CHECKPOINT`;
        const records = [...people(name, new Array(PEOPLE).fill(TURNS))];
        const [before, began] = [timeOf(pids), performance.now()];
        await importRecords(db, records);
        const seconds = (performance.now() - began) / 1000;
        return { rate: records.length / seconds, time: (timeOf(pids) - before) / records.length };
    };
    try {
        const all = { true: [], false: [] }; // filled below
        const ratios = [];
        await round('first', true);
        for (let i = 0; i < ROUNDS; i++) {
            const times = { true: 0, false: 0 };
            for (const indexed of i % 2 === 0 ? [true, false] : [false, true]) {
                const { rate, time } = await round(`round ${i} ${indexed}`, indexed);
                all[`${indexed}`].push(rate);
                times[`${indexed}`] = time;
            }
            ratios.push(times.true / times.false);
        }
        print(`import with message_visitor ${median(all.true).toFixed(0)} records/s, without ${median(all.false).toFixed(0)}/s; ` +
            `processor time of PostgreSQL ${median(ratios).toFixed(3)} times that without (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`);
    }
    finally {
        await close();
    }
}
//# sourceMappingURL=indexes.js.map