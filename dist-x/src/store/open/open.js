import { hostsOf } from '../driver/hosts.js';
import { openDatabase } from '../driver/postgres.js';
import { watched } from '../driver/watched.js';
import { openEmbedded } from '../embedded/embedded.js';
import { buildIndexes } from './build.js';
import { migrate, requireMigrated } from './migrate.js';
import { openReplica } from './replica.js';
import { lookAtPrimary, reaching, requirePooler, requirePrimary, requireSession } from './server.js';
export { StoreUnavailable } from '../embedded/embedded.js';
// Timeout (ms) of a fast statement. A silent server gets 500 ms more. So a request has its 503 within 3 s (check F-06).
const FAST_TIMEOUT = 2_500;
// Timeout (ms) of a write. Less than that of a fast read, because a write may already have waited for its turn.
const WRITE_TIMEOUT = 1_500;
const SLOW_TIMEOUT = 15_000;
/** Timeout (ms) of a statement that writes records of a source. */
const SOURCE_TIMEOUT = 120_000;
/** One connection for each lane of a load. All sources of a process share them. */
const SOURCES = 2;
/** Timeout (ms) of an index build. */
const BUILD_TIMEOUT = 7 * 24 * 3_600_000;
/** Connections for slow reads. An app holds at most two (store/driver/connections.ts), so others have at least one. */
const SLOW = 3;
/** Opens the store of DATABASE_URL, or the embedded one, and migrates it. Throws StoreUnavailable for the operator. */
export async function openStore(options) {
    const { databaseUrl, setting = 'DATABASE_URL', directUrl, replicaUrl, dataDir, log, warn, name = 'gateway', } = options;
    const embedded = databaseUrl === undefined ? await openEmbedded({ dataDir, log, warn }) : undefined;
    const target = embedded ? addressOf(embedded) : (databaseUrl ?? '');
    const pools = [];
    let fence;
    const watch = (opened, pooled, connections, onStatement) => {
        const { db, pool } = watched(opened, { name: pooled, connections, onStatement, closed: () => fence?.error });
        pools.push(pool);
        return db;
    };
    const connect = (connections, statementTimeout, part, keyed = false) => {
        const opened = openDatabase({
            target,
            primary: true,
            direct: directUrl,
            connections,
            statementTimeout,
            name: `${name}${part}`,
            keyed,
        });
        // A batch works for several callers, so its statements belong to no single trace.
        return watch(opened, part === '' ? 'reads' : part.slice(1), connections, keyed ? undefined : options.onStatement);
    };
    const db = connect(options.connections, options.statementTimeout ?? FAST_TIMEOUT, '');
    const slowTimeout = Math.max(SLOW_TIMEOUT, options.statementTimeout ?? 0);
    const slow = connect(SLOW, slowTimeout, '-slow');
    const upkeep = connect(1, slowTimeout, '-upkeep');
    const audit = connect(1, options.statementTimeout ?? FAST_TIMEOUT, '-audit', true);
    const sources = connect(SOURCES, SOURCE_TIMEOUT, '-sources');
    const writer = () => connect(1, options.statementTimeout ?? WRITE_TIMEOUT, '-writes', true);
    const task = (part) => connect(1, options.statementTimeout ?? FAST_TIMEOUT, part, true);
    const tasks = { begins: task('-tasks'), ends: task('-ends') };
    const more = Array.from({ length: Math.max(0, Math.floor(options.connections / 2) - 1) }, writer);
    const writers = [writer(), ...more];
    let replica;
    const close = async () => {
        await fence?.close();
        await replica?.close();
        await Promise.all([db, slow, upkeep, audit, sources, tasks.begins, tasks.ends, ...writers].map((one) => one.close()));
        await embedded?.stop();
    };
    // Clients of a pooler share connections, so a migration uses DATABASE_DIRECT_URL if it is set.
    const server = directUrl === undefined ? slow : single(directUrl, name);
    try {
        const found = await reaching(setting, databaseUrl, () => lookAtPrimary(slow, databaseUrl));
        requirePrimary(found, setting);
        if (directUrl === undefined)
            requireSession(found, setting, slowTimeout);
        else {
            const own = await reaching('DATABASE_DIRECT_URL', directUrl, () => lookAtPrimary(server, directUrl));
            requirePrimary(own, 'DATABASE_DIRECT_URL');
            requireSession(own, 'DATABASE_DIRECT_URL', SLOW_TIMEOUT);
            requirePooler(found, own);
        }
        const [migrated, address] = directUrl === undefined ? [setting, databaseUrl] : ['DATABASE_DIRECT_URL', directUrl];
        const { version, applied } = await reaching(migrated, address, async () => options.migrates === false ? { version: await requireMigrated(server), applied: [] } : migrate(server));
        if (applied.length > 0)
            log(`schema at version ${version}`);
        if (options.fenced === true && !embedded) {
            const { CONFIRMING, openFence } = await import('./fence.js');
            const own = { target, primary: true, confirms: true, direct: directUrl, connections: 1 };
            const confirming = openDatabase({ ...own, statementTimeout: CONFIRMING, name: `${name}-fence` });
            fence = openFence(confirming, hostsOf(databaseUrl ?? ''));
        }
        if (replicaUrl !== undefined) {
            const count = (opened, connections) => watch(opened, 'replica', connections, options.onStatement);
            replica = await openReplica({ url: replicaUrl, primary: db, name, log, watch: count });
        }
        const build = async (stop) => {
            const builder = openDatabase({
                target: directUrl ?? target,
                primary: true,
                connections: 1,
                statementTimeout: BUILD_TIMEOUT,
                name: `${name}-build`,
            });
            let leave = () => undefined;
            const left = new Promise((resolve) => {
                leave = () => resolve(false);
            });
            stop.addEventListener('abort', leave, { once: true });
            const built = buildIndexes({ builder, db: upkeep, log, stop }).then(() => true);
            // After `stop`, nobody waits for the build. This handler prevents an unhandled rejection.
            built.catch(() => undefined);
            return await Promise.race([built, left]).finally(() => {
                stop.removeEventListener('abort', leave);
                void builder.close();
            });
        };
        return { db, slow, upkeep, audit, sources, writers, tasks, replica, embedded, version, pools, build, close };
    }
    catch (error) {
        await close();
        throw error;
    }
    finally {
        if (server !== slow)
            await server.close();
    }
}
const addressOf = ({ host, port, database, username, password }) => ({
    host,
    port,
    database,
    username,
    ...(password !== undefined && { password }),
});
const single = (target, name) => openDatabase({ target, primary: true, connections: 1, statementTimeout: SLOW_TIMEOUT, name: `${name}-direct` });
//# sourceMappingURL=open.js.map