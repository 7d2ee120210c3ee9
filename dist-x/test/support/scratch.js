import { mkdtempSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
const MEMORY = '/dev/shm';
/** Bytes that must be free in memory and on the memory file system. A run takes 2 GB. */
const ROOM = 6 * 2 ** 30;
/**
 * A folder for PostgreSQL's data, in memory if there is room. On a disk that discards freed blocks, a clone of a
 * database took 0.15 s and its removal 0.65 s. In memory, they took 0.02 s and 0.006 s.
 */
export const scratch = (name) => mkdtempSync(join(hasRoom() ? MEMORY : tmpdir(), `gateway-${name}-`));
function hasRoom() {
    try {
        const { bavail, bsize } = statfsSync(MEMORY);
        return bavail * bsize > ROOM && freemem() > ROOM;
    }
    catch {
        return false; // this system has no such folder
    }
}
//# sourceMappingURL=scratch.js.map