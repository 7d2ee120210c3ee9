import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';
import { hasOwnProcess, SHORTER, WHOLE } from '../support/suites.ts';

const files = readdirSync(new URL('test', packageRoot), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
  .map((file) => `test/${file}`);
const textOf = (file: string): string => readFileSync(new URL(file, packageRoot), 'utf8');
const quick = files.filter((file) => !WHOLE.includes(file));

it('the files that npm test leaves out or shortens exist, and no file is in both lists', () => {
  expect([...WHOLE, ...SHORTER].filter((file) => !files.includes(file))).toEqual([]);
  expect(new Set([...WHOLE, ...SHORTER]).size).toBe(WHOLE.length + SHORTER.length);
  expect(quick.length).toBeGreaterThan(files.length / 2);
});

it('a file that has a shorter form is in the list, so that npm test and the mode rest together run it in full', () => {
  const shorter =
    /\bitInFull\(|\bitOnce\b|\b(rows|every)Once\(|\binTurn\(|\b(times|repeats)\([^(),]+,[^(),]+,[^(),]+\)/;
  for (const text of [
    'times(4, 10, 1)',
    'repeats(4, 10, 1)',
    'itInFull(',
    'itOnce as it',
    'rowsOnce(views, 2)',
    'everyOnce(all, 5)',
    'inTurn(i, 5)',
  ])
    expect(text).toMatch(shorter);
  expect('times(4, 10)').not.toMatch(shorter);
  const listed = [...SHORTER, 'test/laws/suites.test.ts'];
  expect(files.filter((file) => shorter.test(textOf(file)) && !listed.includes(file))).toEqual([]);
});

it('npm test has an example of every fault and of every folder of tests', () => {
  // Without the titles of tests that npm test leaves out.
  const titles = quick.map((file) => textOf(file).replaceAll(/\bitInFull\(\s*(['`])[^\n]*\1/g, '')).join('\n');
  const faults = Array.from({ length: 26 }, (_, i) => `F-${String(i + 1).padStart(2, '0')}`);
  expect(faults.filter((id) => !new RegExp(`${id}(?!:)`).test(titles))).toEqual([]);
  const folders = new Set(files.map((file) => file.split('/')[1]));
  // These need the packages of other clients, which `npm ci` does not install.
  for (const folder of ['documents', 'integrations']) folders.delete(folder);
  expect([...folders].filter((folder) => !quick.some((file) => file.startsWith(`test/${folder}/`)))).toEqual([]);
});

it('a file that changes its process, and not only what each-file.ts restores, has a process of its own', () => {
  const changes = /\bvi\.(mock|doMock|stubGlobal)\(|\bprocess\.on\(|syncBuiltinESMExports|\breplaceScrypt\(/;
  expect(["vi.mock('node:fs')", 'replaceScrypt((scrypt)'].filter((text) => !changes.test(text))).toEqual([]);
  const listed = ['test/laws/suites.test.ts'];
  expect(files.filter((file) => changes.test(textOf(file)) && !hasOwnProcess(file) && !listed.includes(file))).toEqual(
    [],
  );
});
