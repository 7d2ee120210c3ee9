import { closeSync, constants, openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { run } from './run.js';
import { errorCode, StoreUnavailable } from './unavailable.js';
const conflict = 75;
/** Milliseconds between two tries of `lockByOpening`. */
const interval = 50;
/**
 * Locks a file with flock(2). Node has no flock, so the program `flock` (util-linux) takes the lock on a file descriptor
 * of this process. The lock belongs to the open file, so the lock stays when the program ends. The call takes 5 ms
 * (measured).
 *
 * The lock also works between containers that share a folder. A process id would not work, because a process id is
 * valid only in its own container.
 */
export async function lockByProgram(path, mode, seconds) {
    const fd = openLockFile(path, 0);
    const wait = seconds > 0 ? ['-w', String(seconds)] : ['-n'];
    const { status, stderr } = await run('flock', [`--${mode}`, ...wait, '-E', String(conflict), '3'], { inherit: [fd] });
    if (status === 0)
        return lockOf(fd);
    closeSync(fd);
    if (status === conflict)
        return undefined;
    throw new StoreUnavailable(`The lock ${path} cannot be taken (${stderr.trim() || `flock ended with ${status}`}): the embedded store needs the ` +
        'program flock (package util-linux) and a local file system; install it, or set DATABASE_URL.');
}
/** Locks a file where open(2) can lock. With these `flags` it never waits, so try again until the lock is free. */
export async function lockByOpening(path, flags, seconds, open = openLockFile) {
    for (const deadline = Date.now() + seconds * 1000;; await pause(interval)) {
        try {
            return lockOf(open(path, flags));
        }
        catch (error) {
            if (!isConflict(error))
                throw error;
        }
        if (Date.now() >= deadline)
            return undefined;
    }
}
/** True when another process holds a lock that conflicts with the lock of `flags`. */
export function held(path, flags) {
    try {
        closeSync(openLockFile(path, flags));
        return false;
    }
    catch (error) {
        return isConflict(error);
    }
}
function lockOf(fd) {
    let held = true;
    return {
        fd,
        release() {
            if (held)
                closeSync(fd);
            held = false;
        },
    };
}
/** macOS answers EAGAIN for a locked file, and Windows answers EBUSY. */
const isConflict = (error) => ['EAGAIN', 'EBUSY'].includes(errorCode(error) ?? '');
function openLockFile(path, flags) {
    try {
        // Open for reading only, because a lock needs no more. So another user can later lock a file of root.
        return openSync(path, constants.O_RDONLY | constants.O_CREAT | flags, 0o644);
    }
    catch (error) {
        if (isConflict(error))
            throw error;
        throw new StoreUnavailable(`The file ${path} cannot be opened (${errorCode(error) ?? 'unknown error'}): give this user write permission on ` +
            'its folder, choose another folder with GATEWAY_DATA_DIR, or set DATABASE_URL.');
    }
}
//# sourceMappingURL=locks.js.map