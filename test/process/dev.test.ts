import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/port.ts';
import { scratch } from '../support/scratch.ts';

const root = fileURLToPath(packageRoot);
const COPIED = [
  'package.json',
  'tsconfig.json',
  'src',
  'tools',
  'skills',
  'prompts',
  'resources',
  'docs',
  'llms',
  'server.json',
];

let database: TestDatabase;
let checkout: string;
let port: number;
let child: ChildProcess;
let printed = '';

beforeAll(async () => {
  database = await freshDatabase('demo');
  checkout = scratch('dev');
  for (const name of COPIED) cpSync(join(root, name), join(checkout, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
  mkdirSync(join(checkout, 'test'));
  // tsconfig.json names the test folder. The folder needs a file, because the compiler refuses an empty folder.
  writeFileSync(join(checkout, 'test/empty.ts'), 'export {};\n');
  port = await freePort();
  child = spawn('npm', ['run', 'dev', '--', '--inspect', '127.0.0.1:0'], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // the command has its own process group, as in a shell
    env: {
      PATH: process.env['PATH'],
      HOME: checkout,
      DATABASE_URL: `postgres://postgres@${encodeURIComponent(database.host)}:${database.port}/${database.name}`,
      PORT: String(port),
    },
  });
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (printed += String(text)));
});
afterAll(async () => {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
    process.kill(-child.pid, 'SIGKILL');
  await database.close();
  rmSync(checkout, { recursive: true, force: true });
});

const sees = (text: RegExp): Promise<unknown> =>
  expect.poll(() => printed.slice(-20_000), { interval: 50 }).toMatch(text);
const title = async (): Promise<string | undefined> => {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/openapi.json`, { headers: { connection: 'close' } });
  return (await answer.text()).match(/Read a (planted )?contact\b/)?.[0];
};

it('npm run dev serves, shows what cannot be built, and serves each change', async () => {
  const tool = join(checkout, 'tools/contacts/contact-get.ts');
  const original = readFileSync(tool, 'utf8');
  const planted = original.replace(/title: 'Read a/, "title: 'Read a planted");
  expect(planted).not.toBe(original);
  await sees(/Debugger listening on ws:[\s\S]*gateway ready on/);
  expect(await title()).toBe('Read a contact');

  printed = '';
  appendFileSync(tool, 'const wrong = ;\n');
  await sees(/contact-get\.ts\(\d+,\d+\): error TS1109[\s\S]*the old server keeps running/);
  expect(await title()).toBe('Read a contact');

  printed = '';
  writeFileSync(tool, planted);
  await sees(/tools\/contacts\/contact-get\.ts changed[\s\S]*gateway ready on/);
  expect(await title()).toBe('Read a planted contact');

  const gone = once(child, 'exit');
  if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
  await gone;
  await expect(title()).rejects.toThrow('fetch failed');
});
