/**
 * Runs the command line of a checkout: `npm start`, `npm run gateway`. First builds, if a source is newer than the last
 * build. This file is JavaScript, because it runs before the compiler. An installed package runs dist/src/main.js.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const main = join(root, 'dist/src/main.js');
/** The time of this empty file is the time at which the last successful build started. */
const stamp = join(root, 'dist/.built');
const compiler = join(root, 'node_modules/typescript/bin/tsc');
/** The lock file of npm shows that packages, and with them types, have changed. */
const FILES = ['tsconfig.json', 'package.json', 'node_modules/.package-lock.json'];
const FOLDERS = ['src', 'tools', 'skills', 'prompts', 'resources', 'test'];

const changed = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** True when no source has changed since the last build. A folder changes when a file in it comes, goes or is renamed. */
function isUpToDate() {
  const built = changed(stamp);
  if (built === 0 || !existsSync(main)) return false;
  if (FILES.some((name) => changed(join(root, name)) > built)) return false;
  return FOLDERS.every((name) => {
    const folder = join(root, name);
    if (changed(folder) > built) return false;
    return readdirSync(folder, { recursive: true, withFileTypes: true }).every(
      (one) =>
        !(one.isDirectory() || one.name.endsWith('.ts')) ||
        changed(join(one.parentPath ?? one.path, one.name)) <= built,
    );
  });
}

function build() {
  if (!existsSync(compiler)) {
    if (existsSync(main)) return;
    process.stderr.write('gateway: The compiler is missing. Run `npm ci` with the development packages.\n');
    process.exit(1);
  }
  const start = new Date();
  const why = existsSync(stamp) ? 'because a source has changed since the last build' : 'because there is no build yet';
  process.stderr.write(`gateway: building, ${why}\n`);
  const { status } = spawnSync(process.execPath, [compiler, '--build', '--noCheck'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) {
    process.stderr.write('gateway: The build failed. The lines before this line say why.\n');
    process.exit(1);
  }
  mkdirSync(join(root, 'dist'), { recursive: true });
  writeFileSync(stamp, '');
  utimesSync(stamp, start, start);
  process.stderr.write(`gateway: built in ${((Date.now() - start.getTime()) / 1_000).toFixed(1)} s\n`);
}

const parent = process.ppid;
if (!isUpToDate()) build();
// npm can end during the build, and leaves this process without a parent.
if (process.ppid !== parent) process.exit(1);
process.argv[1] = main; // the file that node:cluster runs in workers
await import(main);
