import postgres from 'postgres';
import { openGateway } from '../../src/gateway/open.js';
import { openDatabase } from '../../src/store/driver/postgres.js';
import { migrate } from '../../src/store/open/migrate.js';
import { KEYS } from '../support/keys.js';
/** Opens a migrated database of the bench's server. Creates the database, except `gateway`, which exists. */
export async function openWorld({ host, port }, database, connections = 2) {
    const target = { host, port, database, username: 'postgres' };
    const own = { max: 1, onnotice: () => undefined };
    if (database !== 'gateway') {
        const admin = postgres({ ...target, ...own, database: 'postgres' });
        await admin.unsafe(`CREATE DATABASE ${database}`);
        await admin.end();
    }
    const db = openDatabase({ target, connections, statementTimeout: 600_000, name: 'bench' });
    await migrate(db);
    const sql = postgres({ ...target, ...own });
    const close = async () => void (await Promise.all([db.close(), sql.end()]));
    return { target, db, sql, close };
}
export async function openCalls(db, token, cost, more = {}) {
    const store = { db, slow: db, ...more };
    const corridor = await openGateway({ store, keys: KEYS, checkEvery: 1_000_000, onDefect: () => undefined });
    return async (name, input, bearer = token) => {
        const tool = corridor.registry.get(name);
        if (!tool)
            throw new Error(`no tool ${name}`);
        const call = { tool, resource: 'rest', bearer, input, ...(cost !== undefined && { cost }) };
        const outcome = await corridor.call(call);
        if (!('body' in outcome))
            throw new Error(`${name}: ${'failure' in outcome ? outcome.failure.code : 'bytes'}`);
        return outcome.body;
    };
}
//# sourceMappingURL=world.js.map