import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openKeys } from '../../src/auth/key-file.ts';
import { openEmbedded } from '../../src/store/embedded/embedded.ts';
import { isRoot, nobody } from '../support/embedded.ts';
import { scratch } from '../support/scratch.ts';

let folder: string;
let said: string[];
beforeEach(() => {
  folder = scratch('folder');
  said = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const modeOf = (name = '.'): string => (statSync(join(folder, name)).mode & 0o777).toString(8);
const told = {
  log: (message: string): void => void (/other users/.test(message) && said.push(message)),
  warn: (message: string): void => void (/other users/.test(message) && said.push(`warning: ${message}`)),
};
const beside = (): Promise<unknown> =>
  openKeys({ keys: undefined, dataDir: folder, databaseUrl: 'postgres://127.0.0.1/gateway' }, told);
const embedded = async (): Promise<void> => (await openEmbedded({ dataDir: folder, ...told })).stop();

describe('a data folder that is open to other users', () => {
  it.each([
    ['embedded', embedded],
    ['beside DATABASE_URL', beside],
  ])('is left alone where others have files in it, and else closed; both is said: %s', async (_, start) => {
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'letter.txt'), 'dear');
    await start();
    expect(modeOf()).toBe('755');
    rmSync(join(folder, 'letter.txt'));
    await start();
    expect(modeOf()).toBe('700');
    await start();
    expect(said).toEqual([
      `warning: the data folder ${folder} is open to other users (mode 0755) and holds foreign files (letter.txt): ` +
        'choose a folder for the gateway alone with GATEWAY_DATA_DIR, or close this one (chmod 0700)',
      `the data folder ${folder} was open to other users (mode 0755): its mode is 0700 now`,
    ]);
  });

  it('is closed to its group, too, and when it is empty', async () => {
    chmodSync(folder, 0o770);
    await beside();
    expect(modeOf()).toBe('700');
    expect(said).toHaveLength(1);
  });

  it.runIf(isRoot)('is left alone, with a warning, where it is another user’s', async () => {
    chmodSync(folder, 0o755);
    chownSync(folder, nobody.uid, nobody.gid);
    await beside();
    expect(modeOf()).toBe('755');
    expect(said).toEqual([expect.stringMatching(/^warning: .* belongs to another user: /)]);
  });
});

describe('files of secrets', () => {
  it('are closed, in a folder with files of others, too', async () => {
    await beside();
    writeFileSync(join(folder, 'demo-token.json'), '{}');
    writeFileSync(join(folder, 'letter.txt'), 'dear');
    for (const name of ['keys', 'demo-token.json', 'letter.txt']) chmodSync(join(folder, name), 0o644);
    await beside();
    expect(['keys', 'demo-token.json', 'letter.txt'].map(modeOf)).toEqual(['600', '600', '644']);
    expect(said).toEqual(
      ['keys', 'demo-token.json'].map((name) => `${join(folder, name)} was open to other users: its mode is 0600 now`),
    );
  });

  it('are not followed where they are links, nor named twice', async () => {
    const elsewhere = join(folder, 'letter.txt');
    writeFileSync(elsewhere, 'dear');
    chmodSync(elsewhere, 0o644);
    symlinkSync(elsewhere, join(folder, 'demo-token.json'));
    execFileSync('ln', [elsewhere, join(folder, 'postgres.log')]);
    await beside();
    expect(modeOf('letter.txt')).toBe('644');
  });
});
