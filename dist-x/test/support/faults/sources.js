import { setTimeout as pause } from 'node:timers/promises';
import { chatwootGrants } from '../../../src/sources/chatwoot/grants.js';
import { askComparison } from '../../../src/store/administration/sources.js';
import { openDatabase } from '../../../src/store/driver/postgres.js';
import { migrate } from '../../../src/store/open/migrate.js';
import { difference } from '../chatwoot/difference.js';
import { expected } from '../chatwoot/oracle.js';
import { createChatwoot, openChatwoot, populate } from '../chatwoot/populate.js';
import { stored } from '../chatwoot/stored.js';
import { openCluster } from '../cluster.js';
import { times } from '../form.js';
import { addSource } from '../sources.js';
import { MARK_TEXTS, NOTE_CHANGES } from './source-audit.js';
export const STORE = 'gateway';
const CHATWOOT = 'chatwoot';
const ROLE = 'gateway_reader';
/** Seconds between two polls. The long form has the default of `gateway source add`. */
export const PERIOD = times(1, 15);
export async function openSourceWorld(modes, population) {
    const [chatwoot, store] = await Promise.all([openCluster(), openCluster()]);
    const target = (port, database) => ({ host: '127.0.0.1', port, database, username: 'postgres' });
    // While a server is down, the driver's own look-up of types would fail without a handler.
    const own = { fetch_types: false };
    await Promise.all([
        chatwoot.sql('postgres').unsafe(`CREATE DATABASE ${CHATWOOT}`),
        store.sql('postgres').unsafe(`CREATE DATABASE ${STORE}`),
    ]);
    const rails = openChatwoot({ ...target(chatwoot.port, CHATWOOT), ...own });
    const sql = openChatwoot({ ...target(store.port, STORE), ...own, max: 4 });
    const db = openDatabase({
        target: target(store.port, STORE),
        connections: 2,
        statementTimeout: 60_000,
        name: 'test',
    });
    await Promise.all([furnish(rails, modes, population), migrate(db).then(() => sql.unsafe(NOTE_CHANGES).simple())]);
    const address = `postgres://${ROLE}@127.0.0.1:${chatwoot.port}/${CHATWOOT}`;
    const sources = [];
    for (const mode of modes) {
        for (const account of [1, 2]) {
            const organization = `${mode} ${account}`;
            const added = await addSource({ db }, { address, mode, account, organization, period: PERIOD });
            sources.push({ ...added, mode, account });
        }
    }
    const differences = async () => {
        const worlds = new Map();
        const found = [];
        for (const { mode, account, tenant } of sources) {
            const wanted = worlds.get(account) ?? (await expected(rails, { account }));
            worlds.set(account, wanted);
            const { kinds, list } = difference(wanted, await stored(sql, tenant), 2);
            // Each source's organization has a name of its own. The oracle expects the default name.
            const told = Object.entries(kinds).filter(([kind]) => !kind.startsWith('organization '));
            if (told.length > 0)
                found.push(`${mode} ${account}: ${JSON.stringify({ kinds: Object.fromEntries(told), list })}`);
        }
        return found;
    };
    return {
        servers: { chatwoot, store },
        rails,
        sql,
        sources,
        differences,
        settled: async (patience) => {
            for (const end = performance.now() + patience;; await pause(300)) {
                const found = await differences();
                if (found.length === 0 || performance.now() > end)
                    return found;
            }
        },
        compared: async (patience) => {
            const asked = sources.filter(({ mode }) => mode === 'poll');
            const times = await Promise.all(asked.map(async ({ id }) => [id, await askedAt(db, id)]));
            const end = performance.now() + patience;
            for (const [id, at] of times) {
                const done = async () => (await sql `SELECT FROM gateway.source WHERE id = ${id} AND compared_at > ${at} AND progress IS NULL`).length >
                    0;
                while (!(await done())) {
                    if (performance.now() > end)
                        throw new Error('no comparison has ended');
                    await pause(100);
                }
            }
        },
        close: async () => {
            await Promise.all([rails.end({ timeout: 1 }), sql.end({ timeout: 1 }), db.close()]);
            await Promise.all([chatwoot.close(), store.close()]);
        },
    };
}
async function askedAt(db, id) {
    const at = await askComparison(db, id);
    if (at === undefined)
        throw new Error('the source is gone');
    return at;
}
async function furnish(rails, modes, population) {
    await createChatwoot(rails);
    await rails.unsafe(MARK_TEXTS).simple();
    await rails.unsafe(chatwootGrants({ role: ROLE, mode: modes.includes('live') ? 'live' : 'poll' })).simple();
    await populate(rails, population);
}
//# sourceMappingURL=sources.js.map