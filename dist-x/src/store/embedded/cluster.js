import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, statSync, } from 'node:fs';
import { join } from 'node:path';
import { hand } from './identity.js';
import { withPassword } from './loopback.js';
import { machine } from './machine.js';
import { run } from './run.js';
import { errorCode, StoreUnavailable } from './unavailable.js';
/** The cluster's superuser. The gateway connects as another role, which owns its database and has no special rights. */
export const superuser = 'postgres';
const unfinished = 'postgres.init-';
/** True if the folder has a cluster. Throws for other files, or a cluster of another major version. */
export function clusterExists(cluster, { major, version }) {
    let made;
    try {
        made = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim();
    }
    catch (error) {
        if (errorCode(error) !== 'ENOENT') {
            throw new StoreUnavailable(`The database in ${cluster} cannot be read (${errorCode(error) ?? 'unknown error'}): run the gateway as the ` +
                'user who made it, or choose another folder with GATEWAY_DATA_DIR.');
        }
        const stat = statSync(cluster, { throwIfNoEntry: false });
        if (!stat || (stat.isDirectory() && readdirSync(cluster).length === 0))
            return false;
        throw new StoreUnavailable(`${cluster} is not a PostgreSQL data folder (it has no PG_VERSION): move it away, or choose another folder with ` +
            'GATEWAY_DATA_DIR.');
    }
    if (made === String(major))
        return true;
    throw new StoreUnavailable(`The database in ${cluster} was made by PostgreSQL ${made}, but the PostgreSQL here is ${version}: dump it with ` +
        `PostgreSQL ${made} and restore it into a new folder (GATEWAY_DATA_DIR), run PostgreSQL ${made} yourself and set ` +
        'DATABASE_URL to it, or move the folder away to start with an empty store.');
}
/**
 * Makes a cluster in a temporary folder, then renames it. If initdb is killed, the next call removes the folder. The
 * caller must hold the lock `guard`. initdb inherits it, so an orphaned initdb still keeps others out.
 */
export async function makeCluster(cluster, { platform, binaries, account, guard, }) {
    const parent = join(cluster, '..');
    for (const name of readdirSync(parent)) {
        if (name.startsWith(unfinished))
            rmSync(join(parent, name), { recursive: true, force: true });
    }
    const fresh = join(parent, unfinished + randomBytes(6).toString('hex'));
    mkdirSync(fresh, { mode: 0o700 });
    if (account)
        hand(fresh, account);
    const folder = platform.open(fresh);
    const auth = platform.transport === 'socket' ? ['--auth=reject'] : withPassword(parent);
    try {
        const locale = binaries.major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : [];
        const { status, stderr } = await run(join(binaries.bin, 'initdb'), ['-D', folder.path, '-U', superuser, '--data-checksums', '--no-instructions'].concat(['--encoding=UTF8', `--locale=${platform.locale}`], locale, auth), { account, inherit: [guard, ...folder.inherit] });
        if (status !== 0) {
            throw new StoreUnavailable(`PostgreSQL could not create a database in ${parent} (${lastLine(stderr) || `initdb ended with ${status}`}): fix ` +
                'the cause, choose another folder with GATEWAY_DATA_DIR, or set DATABASE_URL.');
        }
        renameSync(fresh, cluster);
    }
    catch (error) {
        rmSync(fresh, { recursive: true, force: true });
        throw error;
    }
    finally {
        folder.close();
    }
    if (!machine.posix)
        return;
    const above = openSync(parent, 'r');
    fsyncSync(above);
    closeSync(above);
}
function lastLine(text) {
    const lines = text.split('\n').map((line) => line.trim());
    return lines.find((line) => /error|fatal|could not/i.test(line)) ?? lines.filter(Boolean).at(-1) ?? '';
}
//# sourceMappingURL=cluster.js.map