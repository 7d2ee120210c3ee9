import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, lstatSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { Bench, isRoot, nobody, postmasterPid, query, running } from '../../support/embedded.ts';

let bench: Bench;

beforeAll(() => {
  bench = new Bench();
});

afterEach(() => bench.clean());

afterAll(() => bench.remove());

/** The major version of the PostgreSQL on PATH. 0 when PATH has no PostgreSQL. */
function pathMajor(): number {
  try {
    return Number(/\d+/.exec(execFileSync('postgres', ['--version'], { encoding: 'utf8' }))?.[0]);
  } catch {
    return 0; // no PostgreSQL is on PATH
  }
}

describe('where the binaries come from', () => {
  it.runIf(pathMajor() >= 15)('runs a PostgreSQL of this machine', async () => {
    const dataDir = bench.dataDir();
    const store = await bench.open(dataDir, 'path');
    expect(store).toMatchObject({ origin: 'path', adopted: false });
    expect(await query(store, "select lower('ÄÖ') as low")).toEqual([{ low: 'äö' }]);
    await store.stop();
    if (!store.version.startsWith('18.')) await bench.refused(dataDir, /was made by PostgreSQL \d+, but/);
  });

  it('says what to do when there is none, and takes one of this machine when the package is absent', async () => {
    const { built, native } = bench.installation('bare', 0o755);
    rmSync(native, { recursive: true });
    const none = await bench.start(bench.dataDir(), { built });
    expect(none.said.refused).toMatch(/No PostgreSQL to run .*set DATABASE_URL/);
    if (pathMajor() < 15) return;
    const child = await bench.start(bench.dataDir(), { built, binaries: 'any' });
    expect(child.said.origin).toBe('path');
  });

  it('makes the links between libraries where npm ran no scripts, and starts in a folder closed to others', async () => {
    const { built, native } = bench.installation('closed', 0o700);
    const dataDir = bench.watched(join(built, '.data'));
    for (const adopted of [false, true]) {
      const child = await bench.start(dataDir, { built });
      expect(child.said).toMatchObject({ origin: 'embedded', version: expect.stringMatching(/^18\./), adopted });
    }
    expect(lstatSync(join(native, 'lib/libpq.so.5')).isSymbolicLink()).toBe(true);
  });

  it.runIf(isRoot)(
    'mends a copy that was swept in part, and runs none that another user put in its place',
    async () => {
      const { built } = bench.installation('closed-too', 0o700);
      const temporary = bench.temporary();
      const program = async () => {
        const dataDir = await bench.made();
        const child = await bench.start(dataDir, { built });
        const path = readlinkSync(`/proc/${postmasterPid(dataDir)}/exe`);
        await child.stop();
        return path;
      };
      const first = await program();
      expect(first.startsWith(temporary)).toBe(true);
      const native = join(first, '../..');
      rmSync(join(native, 'share'), { recursive: true });
      expect(await program()).toBe(first);
      chownSync(join(native, '..'), nobody.uid, nobody.gid);
      const other = await program();
      expect(other.startsWith(temporary)).toBe(false);
      expect(lstatSync(join(other, '../../..')).uid).toBe(0);
    },
  );

  it.runIf(isRoot)('runs as a normal user, with a read-only package that lacks its links', async () => {
    const { built, native } = bench.installation('read-only', 0o755);
    const dataDir = bench.dataDirOnDisk();
    chownSync(dataDir, nobody.uid, nobody.gid);
    const child = await bench.start(dataDir, { built, user: nobody });
    expect(child.said).toMatchObject({ origin: 'embedded', adopted: false });
    expect(existsSync(join(native, 'lib/libpq.so.5'))).toBe(false);
    const pid = postmasterPid(dataDir);
    expect(lstatSync(`/proc/${pid}`).uid).toBe(nobody.uid);
    await child.stop();
    expect(running(pid)).toBe(false);
    // Root starts the gateway. PostgreSQL must still run as the user who owns the database.
    const store = await bench.open(dataDir);
    expect(lstatSync(`/proc/${postmasterPid(dataDir)}`).uid).toBe(nobody.uid);
    await store.stop();
  });
});
