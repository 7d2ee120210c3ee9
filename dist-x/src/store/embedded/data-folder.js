import { accessSync, closeSync, constants, fchmodSync, fstatSync, mkdirSync, openSync, readdirSync, realpathSync, statSync, } from 'node:fs';
import { dirname, join } from 'node:path';
import { machine } from './machine.js';
import { errorCode, StoreUnavailable } from './unavailable.js';
/** Makes the data folder (mode 0700) if it does not exist. Checks that this process may write to the folder. */
export function prepareDataDir(dataDir) {
    try {
        makeFolder(dataDir);
        accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    }
    catch (error) {
        throw new StoreUnavailable(`The data folder ${dataDir} cannot be made or written (${errorCode(error) ?? 'unknown error'}): give this user ` +
            'write permission there, choose another folder with GATEWAY_DATA_DIR, or set DATABASE_URL.');
    }
}
/** Makes a folder and its missing parents. Node's own recursive mkdir never ends below /proc. */
export function makeFolder(folder) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true)
        return;
    makeFolder(dirname(folder));
    try {
        mkdirSync(folder, { mode: 0o700 });
    }
    catch (error) {
        // EEXIST for an existing folder is no error: another process has just made the folder.
        if (errorCode(error) !== 'EEXIST' || !statSync(folder).isDirectory())
            throw error;
    }
}
const MADE = /^(postgres|postgres\.(lock|holders|running|password|log|log\.1|init-[0-9a-f]{12})|postgres-[a-z0-9]+-\d[\w.-]*|keys(\.[0-9a-f]{12})?|demo-token\.json)$/;
/** Files that no other user may read. */
const SECRET = ['keys', 'demo-token.json', 'postgres.password', 'postgres.log', 'postgres.log.1'];
/**
 * Closes the data folder and its secret files to other users, and logs it. A folder with foreign files stays open,
 * because others may need them. `mode`: the bits that the folder may keep.
 */
export function closeToOthers(dataDir, { log, warn }, mode = 0o700) {
    // A folder on Windows has the access list of the folder above.
    if (!machine.posix)
        return;
    const folder = realpathSync(dataDir);
    const { mode: found, uid } = statSync(folder);
    if ((found & 0o777 & ~mode) !== 0) {
        const foreign = readdirSync(folder).filter((name) => !MADE.test(name));
        const [first] = foreign;
        if (first === undefined && restrict(folder, mode)) {
            log(`the data folder ${folder} was open to other users (mode ${octal(found)}): its mode is ${octal(mode)} now`);
        }
        else {
            const why = uid !== process.geteuid?.() ? 'belongs to another user' : `holds foreign files (${first})`;
            warn?.(`the data folder ${folder} is open to other users (mode ${octal(found)}) and ${why}: choose a folder for the ` +
                `gateway alone with GATEWAY_DATA_DIR, or close this one (chmod ${octal(mode)})`);
        }
    }
    for (const name of SECRET) {
        if (restrict(join(folder, name), 0o600))
            log(`${join(folder, name)} was open to other users: its mode is 0600 now`);
    }
}
/** Removes permission bits outside `mode`. True if there was one. Ignores links and files of other users. */
function restrict(path, mode) {
    let fd;
    try {
        fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    }
    catch {
        // The path does not exist, is a link, or is closed to this process. So it is not a file that the gateway made.
        return false;
    }
    try {
        const stat = fstatSync(fd);
        const ours = stat.uid === process.geteuid?.() && (stat.isDirectory() || (stat.isFile() && stat.nlink === 1));
        if (!ours || (stat.mode & 0o777 & ~mode) === 0)
            return false;
        fchmodSync(fd, stat.mode & mode);
        return true;
    }
    finally {
        closeSync(fd);
    }
}
const octal = (mode) => (mode & 0o777).toString(8).padStart(4, '0');
//# sourceMappingURL=data-folder.js.map