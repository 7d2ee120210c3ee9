import { mkdtempSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** The bytes that must be free on the memory file system, and in memory. A run takes 2 GB. */
const ROOM = 6 * 2 ** 30;

/**
 * Creates a folder for the data of a PostgreSQL of this run, in memory when there is room. On a disk that discards
 * freed blocks, a database took 0.15 s to clone and 0.65 s to drop. In memory it took 0.02 s and 0.006 s.
 */
export const scratch = (name: string): string => mkdtempSync(join(hasRoom() ? MEMORY : tmpdir(), `gateway-${name}-`));

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > ROOM && freemem() > ROOM;
  } catch {
    return false; // this system has no such folder
  }
}
