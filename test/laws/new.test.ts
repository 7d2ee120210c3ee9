import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';
import { newTool } from '../new.ts';

const NAME = 'contacts/contact-conversations';
let folder: string;
let root: URL;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-new-'));
  root = pathToFileURL(`${folder}/`);
  const ours = fileURLToPath(packageRoot);
  for (const name of ['tools', 'test/auth', 'test/tools', 'tsconfig.json', 'biome.json'])
    cpSync(join(ours, name), join(folder, name), { recursive: true });
  for (const name of ['src', 'node_modules', 'package.json', 'test/support', 'test/events', 'test/surfaces'])
    symlinkSync(join(ours, name), join(folder, name));
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (command: string, ...args: string[]) =>
  spawnSync(join(folder, 'node_modules/.bin', command), args, { cwd: folder, encoding: 'utf8' });

describe('npm run new -- tool', () => {
  it.each([
    ['contact-conversations', 'is not FOLDER/NAME'],
    ['contacts/contact_conversations', 'is not FOLDER/NAME'],
    ['contacts/../contact', 'is not FOLDER/NAME'],
    ['people/contact-conversations', 'The folders are ai, contacts,'],
    ['contacts/contact-get', 'tools/contacts/contact-get.ts is there already'],
    ['visitors/contact-get', 'tools/contacts/contact-get.ts is there already'],
  ])('%s: %s', (argument, sentence) => {
    expect(() => newTool(argument, root)).toThrow(sentence);
  });

  it('makes files that compile and that the formatter and the linter accept', () => {
    const files = newTool(NAME, root);
    expect(files).toHaveLength(3);
    for (const file of files) expect(readFileSync(new URL(file, root), 'utf8')).toContain('FILL_IN');
    // That file declares what the tests are given.
    const include = [...files, 'test/support/postgres.ts'];
    writeFileSync(join(folder, 'new.json'), JSON.stringify({ extends: './tsconfig.json', include }));
    const compiled = run('tsc', '-p', 'new.json', '--noEmit', '--incremental', 'false', '--preserveSymlinks');
    expect([compiled.status, compiled.stdout]).toEqual([0, '']);
    const judged = run('biome', 'check', '--error-on-warnings', ...files);
    expect(judged.status, judged.stderr).toBe(0);
    expect(judged.stdout).toContain('Checked 3 files');
    expect(() => newTool(NAME, root)).toThrow('is there already');
  }, 60_000);
});
