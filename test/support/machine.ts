import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { isRoot } from './embedded.ts';
import { scratch } from './scratch.ts';

/** What a machine of its own would have: a disk that can fill, and a clock that is wrong. */

const mount = (folder: string, megabytes: number, owner = ''): string | undefined => {
  const options = `size=${megabytes}m,mode=0700${owner}`;
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { encoding: 'utf8' });
  return status === 0 ? undefined : `mount: ${stderr?.trim() || `ended with ${status}`}`;
};
// Lazily, because a process that was just killed can still use a file.
const unmount = (folder: string): void => void spawnSync('umount', ['-l', folder]);

function tried(): string | undefined {
  if (!isRoot) return 'only root may mount a file system';
  const folder = scratch('disk');
  const refused = mount(folder, 1);
  unmount(folder);
  rmSync(folder, { recursive: true, force: true });
  return refused;
}

const refused = tried();
/** Why no disk of its own can be mounted here. Undefined if one can. */
export const withoutDisks =
  refused === undefined
    ? undefined
    : `The tests of full disks are skipped, because this machine lets nobody mount one (${refused}).`;

const LIBRARIES = '/usr/lib';
const library = existsSync(LIBRARIES)
  ? readdirSync(LIBRARIES)
      .map((name) => join(LIBRARIES, name, 'faketime/libfaketimeMT.so.1'))
      .find((path) => existsSync(path))
  : undefined;
/** Why no process can have a clock of its own here. Undefined if one can. */
export const withoutClocks =
  library === undefined
    ? "The tests of wrong clocks are skipped, because this machine lacks libfaketime: install Debian's package faketime."
    : undefined;

/**
 * Makes a folder with the programs of PostgreSQL, in which the server's clock is ahead by these seconds. Patroni keeps the
 * right time: with this library Python's own sleep fails.
 */
export function binariesAhead(seconds: number, { from, to }: { from: string; to: string }): string {
  mkdirSync(to);
  const env = Object.entries(clockAhead(seconds)).map(([name, value]) => `${name}='${value}'`);
  for (const name of readdirSync(from)) if (name !== 'postgres') symlinkSync(join(from, name), join(to, name));
  const script = `#!/bin/sh\nexec env ${env.join(' ')} '${join(from, 'postgres')}' "$@"\n`;
  writeFileSync(join(to, 'postgres'), script, { mode: 0o755 });
  return to;
}

/** The environment of a process, and of its children, whose clock is ahead by these seconds. Timers are right. */
export const clockAhead = (seconds: number): Readonly<Record<string, string>> =>
  seconds === 0 || library === undefined
    ? {}
    : {
        LD_PRELOAD: library,
        FAKETIME: `${seconds < 0 ? '' : '+'}${seconds}`,
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        DONT_FAKE_MONOTONIC: '1',
        FAKETIME_DONT_RESET: '1',
      };

export interface Disk {
  /** Writes a file that takes all the room that is left. */
  fill(): void;
  free(): void;
  unmount(): void;
}

/** Mounts a small file system in memory at a new folder. */
export function mountDisk(folder: string, megabytes: number, owner?: { uid: number; gid: number }): Disk {
  mkdirSync(folder, { mode: 0o700 });
  const wrong = mount(folder, megabytes, owner && `,uid=${owner.uid},gid=${owner.gid}`);
  if (wrong !== undefined) throw new Error(wrong);
  const ballast = join(folder, 'ballast');
  return {
    fill: () => {
      const file = openSync(ballast, 'a');
      try {
        for (let size = 1 << 20; size >= 1; ) {
          try {
            writeSync(file, Buffer.alloc(size));
          } catch (error) {
            if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
            size >>= 1;
          }
        }
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(ballast, { force: true }),
    unmount: () => unmount(folder),
  };
}
