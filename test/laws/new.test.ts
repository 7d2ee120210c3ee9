import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';
import { newTool } from '../new.ts';

const NAME = 'contacts/of-this-test';
/** The files of the skeleton. One compiler judges them together with the example. */
const skeleton: string[] = [];
let folder: string;
let root: URL;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-new-'));
  root = pathToFileURL(`${folder}/`);
  const ours = fileURLToPath(packageRoot);
  for (const name of ['src', 'tools', 'test/support', 'test/tools', 'tsconfig.json', 'biome.json', 'package.json'])
    cpSync(join(ours, name), join(folder, name), { recursive: true });
  symlinkSync(join(ours, 'node_modules'), join(folder, 'node_modules'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (command: string, ...args: string[]) =>
  spawnSync(join(folder, 'node_modules/.bin', command), args, { cwd: folder, encoding: 'utf8' });

function compiled(files: readonly string[]): string {
  writeFileSync(join(folder, 'new.json'), JSON.stringify({ extends: './tsconfig.json', include: files }));
  const { status, stdout } = run('tsc', '-p', 'new.json', '--noEmit', '--incremental', 'false', '--preserveSymlinks');
  return `${status} ${stdout}`;
}

function accepted(files: readonly string[]): void {
  expect(compiled(files)).toBe('0 ');
  const judged = run('biome', 'check', '--error-on-warnings', ...files);
  expect(judged.status, judged.stderr).toBe(0);
  expect(judged.stdout).toContain(`Checked ${files.length} files`);
}

function edit(file: string, change: (text: string) => string): void {
  const before = readFileSync(new URL(file, root), 'utf8');
  const after = change(before);
  expect(after, file).not.toBe(before);
  writeFileSync(new URL(file, root), after);
}

describe('npm run new -- tool', () => {
  it.each([
    ['contact-conversations', 'is not FOLDER/NAME'],
    ['contacts/contact_conversations', 'is not FOLDER/NAME'],
    ['contacts/../contact', 'is not FOLDER/NAME'],
    ['people/contact-conversations', 'The folders are ai, audit, contacts,'],
    ['contacts/contact-get', 'tools/contacts/contact-get.ts is there already'],
    ['visitors/contact-get', 'tools/contacts/contact-get.ts is there already'],
  ])('%s: %s', (argument, sentence) => {
    expect(() => newTool(argument, root)).toThrow(sentence);
  });

  it('makes files that compile and that the formatter and the linter accept', () => {
    const files = newTool(NAME, root);
    expect(files).toHaveLength(2);
    for (const file of files) expect(readFileSync(new URL(file, root), 'utf8')).toContain('FILL_IN');
    expect(() => newTool(NAME, root)).toThrow('is there already');
    skeleton.push(...files);
  });
});

it('the skeleton and the example of docs/adding-an-operation.md compile, and the example needs the link that it adds', () => {
  const text = readFileSync(new URL('docs/adding-an-operation.md', packageRoot), 'utf8');
  const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = '']) => block);
  const [declaration = '', link = '', expectations = ''] = blocks;
  expect(blocks).toHaveLength(3);
  const [tool = '', row = ''] = newTool('contacts/contact-conversations', root);
  edit(tool, () => declaration);
  edit(row, () => expectations);
  const errors = compiled([...skeleton, tool, row]);
  expect(errors).toContain(`'"Contact"' is not assignable to type '"Visitor"'`);
  expect(errors).not.toContain('of-this-test');
  edit('src/views/conversation.ts', (view) => view.replace(/ {2}within: .*\n/, link));
  accepted([...skeleton, tool, row, 'src/views/conversation.ts']);
});
