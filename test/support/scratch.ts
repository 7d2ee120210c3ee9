import { mkdtempSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Bytes that must be free there, and of memory: a run takes 2 GB. */
const ROOM = 6 * 2 ** 30;

/**
 * A folder for the data of a PostgreSQL of this run: in memory where there is room. On a disk that discards what is freed
 * a database took 0.15 s to clone and 0.65 s to drop; in memory 0.02 s and 0.006 s.
 */
export const scratch = (name: string): string => mkdtempSync(join(hasRoom() ? MEMORY : tmpdir(), `gateway-${name}-`));

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > ROOM && freemem() > ROOM;
  } catch {
    return false; // not on this system
  }
}
