import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { inject } from 'vitest';

/** Milliseconds of a process that waits for a folder. A machine that is busy makes one in ten seconds. */
const PATIENCE = 180_000;

/**
 * A folder that is made once in a run. The first process that asks makes it, and the others wait. Nobody changes it
 * afterwards: tests copy it.
 */
export async function madeOnce(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(inject('templates'), name);
  const [taken, making, failed] = [`${folder}.taken`, `${folder}.making`, `${folder}.failed`];
  try {
    mkdirSync(taken);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    for (const end = performance.now() + PATIENCE; !existsSync(folder); await pause(50)) {
      if (existsSync(failed)) throw new Error(`another test process could not make the template ${name}`);
      if (performance.now() > end) throw new Error(`nobody made the template ${name} in time`);
    }
    return folder;
  }
  try {
    mkdirSync(making);
    await make(making);
    renameSync(making, folder);
  } catch (error) {
    writeFileSync(failed, '');
    throw error;
  }
  return folder;
}
