import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { checkout, main, shellEnvironment } from '../support/command.ts';
import { itOnce as it, itInFull } from '../support/form.ts';
import { scratch } from '../support/scratch.ts';

/** Ends what somebody started, each time in another way. The gateway and its embedded PostgreSQL must end, too. */
let base: string;
beforeAll(async () => {
  base = scratch('endings');
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

interface Started {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly gateway: number;
  readonly postgres: number;
}
let started: Started | undefined;
afterEach(async () => {
  if (!started) return;
  for (const [pid, signal] of [
    [started.pid, 'SIGKILL'],
    [started.gateway, 'SIGTERM'],
  ] as const)
    if (lives(pid)) process.kill(pid, signal);
  await expect.poll(left, { timeout: 10_000 }).toEqual([]);
  started = undefined;
});

/** A process that has ended and that nobody has waited for yet does not live. */
function lives(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false; // no process has this id
  }
}
const left = (): string[] =>
  Object.entries({ gateway: started?.gateway ?? 0, postgres: started?.postgres ?? 0 })
    .filter(([, pid]) => lives(pid))
    .map(([name]) => name);

/** Finds the process that has opened the store: the one that listens. */
function childOf(pid: number): number {
  const below = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  for (const one of below) {
    const words = readFileSync(`/proc/${one}/cmdline`, 'utf8').split('\0');
    if (words.some((word) => /main\.js$|checkout\.js$/.test(word)) && words[0]?.endsWith('node')) return one;
    const found = childOf(one);
    if (found > 0) return found;
  }
  return 0;
}

async function begin(program: string, ...args: string[]): Promise<Started> {
  // All cases share one cluster, because making a cluster takes two seconds.
  const folder = join(base, 'data');
  const child = spawn(program, args, {
    cwd: checkout,
    env: shellEnvironment({ GATEWAY_DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'silent' }),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (text += part.toString()));
  await expect.poll(() => text).toContain('gateway ready on');
  const pid = child.pid ?? 0;
  const postgres = Number(readFileSync(join(folder, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);
  started = { child, pid, postgres, gateway: /(^|\/)node$/.test(program) ? pid : childOf(pid) };
  expect(left()).toEqual(['gateway', 'postgres']);
  return started;
}

const SERVE = ['serve', '--no-demo'];
const NPM = ['npm', 'start', '--', '--no-demo'] as const;

async function endedBy([program, ...args]: readonly [string, ...string[]], signal: NodeJS.Signals): Promise<void> {
  const { pid } = await begin(program, ...args);
  process.kill(pid, signal);
  await expect.poll(left, { timeout: 10_000, interval: 50 }).toEqual([]);
}

it('SIGKILL of npm start', () => endedBy(NPM, 'SIGKILL'), 60_000);

itInFull.each([
  ['SIGTERM to npm start', NPM, 'SIGTERM'],
  ['SIGTERM to npm run gateway', ['npm', 'run', 'gateway', '--', ...SERVE], 'SIGTERM'],
  ['SIGTERM to a shell that runs npm', ['sh', '-c', 'cd . && npm start -- --no-demo'], 'SIGTERM'],
  ['SIGKILL of npm with workers', [...NPM, '--workers', '2'], 'SIGKILL'],
  ['SIGHUP, as a closed terminal sends it', [process.execPath, main, ...SERVE], 'SIGHUP'],
] as const)('%s', (_, command, signal) => endedBy(command, signal), 60_000);

itInFull('a closed terminal ends npm start, the gateway and PostgreSQL', async () => {
  const { child } = await begin('script', '-qefc', NPM.join(' '), '/dev/null');
  child.kill('SIGKILL'); // closes the terminal
  await expect.poll(left, { timeout: 10_000, interval: 50 }).toEqual([]);
});

async function outlives(command: string): Promise<void> {
  const { pid } = await begin('sh', '-c', `${command} & sleep 600`);
  process.kill(pid, 'SIGKILL');
  await pause(1_500);
  expect(left()).toEqual(['gateway', 'postgres']);
}

it('a job of a shell that ends before the job outlives the shell', () =>
  outlives(`'${process.execPath}' '${main}' serve --no-demo`));

// npm itself ends with the gateway.
itInFull('a job of a shell that started npm outlives the shell', () => outlives(NPM.join(' ')), 60_000);
