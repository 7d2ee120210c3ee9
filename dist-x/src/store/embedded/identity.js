import { chownSync, lchownSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode, StoreUnavailable } from './unavailable.js';
/** Throws StoreUnavailable when the cluster belongs to another user. PostgreSQL runs as the current user otherwise. */
export function refuseForeign(cluster) {
    const owner = ownerOf(cluster);
    const us = process.geteuid?.();
    if (owner === undefined || owner === us)
        return undefined;
    throw new StoreUnavailable(`The database in ${cluster} belongs to the user with uid ${owner}, but this process runs as uid ${us}: ` +
        'run it as that user or as root, or choose another folder with GATEWAY_DATA_DIR.');
}
/**
 * The user that runs PostgreSQL for root: the cluster's owner, else `postgres`, else `nobody`. PostgreSQL refuses root,
 * and initdb a uid without an entry in /etc/passwd.
 */
export function accountOfRoot(cluster) {
    const owner = ownerOf(cluster);
    const accounts = passwd();
    const account = (owner ? accounts.find(({ uid }) => uid === owner) : undefined) ??
        accounts.find(({ name, uid }) => name === 'postgres' && uid !== 0) ??
        accounts.find(({ name, uid }) => name === 'nobody' && uid !== 0);
    if (account)
        return account;
    throw new StoreUnavailable('PostgreSQL does not run as root, and /etc/passwd has no user "postgres" or "nobody" to run it: ' +
        'start the gateway as another user, or set DATABASE_URL to a PostgreSQL server.');
}
export function hand(folder, account, { deep = false } = {}) {
    try {
        if (deep) {
            for (const entry of readdirSync(folder, { recursive: true })) {
                lchownSync(join(folder, entry.toString()), account.uid, account.gid);
            }
        }
        chownSync(folder, account.uid, account.gid);
    }
    catch (error) {
        throw new StoreUnavailable(`PostgreSQL does not run as root, and ${folder} cannot be given to the user "${account.name}" ` +
            `(${errorCode(error) ?? 'unknown error'}): start the gateway as another user, choose another folder with ` +
            'GATEWAY_DATA_DIR, or set DATABASE_URL.');
    }
}
export function ownerOf(path) {
    return statSync(path, { throwIfNoEntry: false })?.uid;
}
function passwd() {
    return readFileSync('/etc/passwd', 'utf8')
        .split('\n')
        .map((line) => line.split(':'))
        .map(([name = '', , uid = '', gid = '']) => ({ name, uid: Number(uid), gid: Number(gid) }))
        .filter(({ name, uid, gid }) => name !== '' && Number.isInteger(uid) && Number.isInteger(gid));
}
//# sourceMappingURL=identity.js.map