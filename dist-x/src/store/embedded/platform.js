import { closeSync, mkdtempSync, openSync, readFileSync, readlinkSync, realpathSync, rmSync, symlinkSync, } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { accountOfRoot, ownerOf, refuseForeign } from './identity.js';
import { held, lockByOpening, lockByProgram } from './locks.js';
import { errorCode, StoreUnavailable } from './unavailable.js';
/** The path of the data folder inside every PostgreSQL process, where file descriptor 4 is the open data folder. */
const fourth = '/proc/self/fd/4';
export const linux = {
    transport: 'socket',
    oldestMajor: 15,
    locale: 'C.UTF-8',
    accountFor: (cluster) => (process.geteuid?.() === 0 ? accountOfRoot(cluster) : refuseForeign(cluster)),
    // PostgreSQL needs no right to enter the parents of the data folder, because it inherits the open folder.
    open(folder) {
        const fd = openSync(folder, 'r');
        return { path: fourth, inherit: [fd], close: () => closeSync(fd) };
    },
    // A path through a file descriptor is short for every folder. The limit is 107 bytes without the final zero.
    reach(cluster, socket) {
        if (Buffer.byteLength(join(cluster, socket)) <= 107)
            return { host: cluster, close: () => undefined };
        const fd = openSync(cluster, 'r');
        return { host: `/proc/self/fd/${fd}`, close: () => closeSync(fd) };
    },
    lock: lockByProgram,
    // The process must run in the cluster's folder. In a container, root cannot always read another user's working
    // folder: then program name and owner decide.
    lives(pid, cluster) {
        try {
            const [program = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
            if (!/postgres|postmaster/.test(program) || ownerOf(`/proc/${pid}`) !== ownerOf(cluster))
                return false;
            return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(cluster);
        }
        catch (error) {
            return errorCode(error) === 'EACCES';
        }
    },
};
const named = (folder) => ({ path: folder, inherit: [], close: () => undefined });
/** macOS has neither /proc nor the program `flock`. Its system call open(2) takes locks. */
export const darwin = {
    transport: 'socket',
    oldestMajor: 17,
    locale: 'C',
    accountFor(cluster) {
        if (process.geteuid?.() !== 0)
            return refuseForeign(cluster);
        throw new StoreUnavailable('PostgreSQL does not run as root: start the gateway as another user, or set DATABASE_URL to a PostgreSQL server.');
    },
    open: named,
    // A link in a private temporary folder is short. The limit is 103 bytes without the final zero.
    reach(cluster, socket) {
        if (Buffer.byteLength(join(cluster, socket)) <= 103)
            return { host: cluster, close: () => undefined };
        try {
            const folder = mkdtempSync(join(Buffer.byteLength(tmpdir()) <= 60 ? tmpdir() : '/tmp', 'gateway-'));
            const host = join(folder, 'store');
            symlinkSync(cluster, host);
            return { host, close: () => rmSync(folder, { recursive: true, force: true }) };
        }
        catch (error) {
            throw new StoreUnavailable(`The path ${join(cluster, socket)} is longer than 103 bytes, and a short link to it cannot be made ` +
                `(${errorCode(error) ?? 'unknown error'}): choose a shorter path with GATEWAY_DATA_DIR, or set DATABASE_URL.`);
        }
    },
    lock: (path, mode, seconds) => lockByOpening(path, openFlags(mode), seconds),
    // Every PostgreSQL process holds the lock `postgres.running`. So a free lock shows that the process id was reused.
    lives: (pid, cluster) => exists(pid) && held(markOf(cluster), openFlags('shared')),
};
/** The values of O_SHLOCK, O_EXLOCK and O_NONBLOCK in fcntl.h of macOS. Node has no names for the first two. */
const openFlags = (mode) => (mode === 'shared' ? 0x10 : 0x20) | 0x4;
/** The flag of libuv that opens a file for this process alone. Every other way to open the file then fails. */
const UV_FS_O_EXLOCK = 0x10000000;
/** Node cannot use Unix sockets on Windows, and Windows has no signals. */
export const windows = {
    transport: 'loopback',
    oldestMajor: 17,
    locale: 'C',
    // pg_ctl and initdb give up the rights of an administrator themselves.
    accountFor: () => undefined,
    open: named,
    reach: () => ({ host: '127.0.0.1', close: () => undefined }),
    lock: (path, mode, seconds) => lockByOpening(path, mode === 'exclusive' ? UV_FS_O_EXLOCK : 0, seconds),
    // The process id may have been reused. Before the gateway adopts a server, pg_ctl asks the process (loopback.ts).
    lives: (pid) => exists(pid),
};
/** The platform of this process. Throws StoreUnavailable where the embedded store does not run. */
export function platformHere() {
    const found = { linux, darwin, win32: windows }[process.platform]; // other names give undefined
    if (found)
        return found;
    throw new StoreUnavailable(`The embedded store runs on Linux, macOS and Windows, but this is ${process.platform}: set DATABASE_URL to a ` +
        'PostgreSQL server.');
}
/** The file that every PostgreSQL process of the cluster holds locked. */
export const markOf = (cluster) => join(dirname(cluster), 'postgres.running');
function exists(pid) {
    try {
        return process.kill(pid, 0);
    }
    catch {
        return false; // no such process, or a process of another user
    }
}
//# sourceMappingURL=platform.js.map