import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';

/**
 * Replicas of the gateway: real processes (`dist/src/main.js serve`) that tests kill and stop. If a test leaves a
 * replica behind, the replica is killed after the test file or when the test worker exits.
 */
export interface Replica {
  readonly url: string;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  stderr(): string;
  /** The log of the process. Empty unless LOG_LEVEL is set. */
  log(): string;
  kill9(): Promise<Exit>;
  /**
   * Sends SIGSTOP. Resolves when the kernel has stopped the process. The process does not notice that it is stopped.
   */
  stop(): Promise<void>;
  cont(): void;
  /** Sends SIGTERM, as an operator does. Resolves when the process has ended. */
  end(): Promise<Exit>;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ReplicaOptions {
  /** The address of the database. Through a proxy, use `proxy.url(database.name)`. */
  readonly databaseUrl: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const root = fileURLToPath(packageRoot);
const main = join(root, 'dist/src/main.js');
const living = new Set<() => Promise<Exit>>();
const killAll = (): Promise<Exit[]> => Promise.all([...living].map((kill) => kill()));
let folder: string | undefined;
let building: Promise<void> | undefined;

process.once('exit', killAll);
afterAll(async () => {
  await killAll();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
});

/**
 * Builds dist/. Only one process on this machine builds at a time, and the build writes only changed files. The build
 * ignores type errors, because somebody may be editing a file. `npm run check` reports type errors.
 */
async function build(): Promise<void> {
  const lock = join(root, 'dist', '.building');
  mkdirSync(join(root, 'dist'), { recursive: true });
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch {
      // A builder that is killed leaves its lock behind, so remove an old lock.
      const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
      if (Date.now() - since > 60_000) rmSync(lock, { recursive: true, force: true });
      await pause(50);
    }
  }
  try {
    const { stdout, stderr } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--build'], {
      cwd: root,
      encoding: 'utf8',
    });
    if (!statSync(main, { throwIfNoEntry: false })) throw new Error(`tsc --build wrote no main.js: ${stdout}${stderr}`);
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/**
 * The environment contains only the test's own settings. A developer's DATABASE_URL or GATEWAY_KEYS must not reach a
 * replica under test. Without npm's variables, a replica is like a service.
 */
function environment({ databaseUrl, env }: ReplicaOptions): NodeJS.ProcessEnv {
  folder ??= mkdtempSync(join(tmpdir(), 'gateway-replicas-'));
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(GATEWAY_|PG|VITEST|NODE_|npm_|DATABASE_URL)/.test(name),
  );
  return {
    ...Object.fromEntries(inherited),
    DATABASE_URL: databaseUrl,
    // All replicas of a test file share one folder, as the replicas of one installation share their settings.
    GATEWAY_DATA_DIR: folder,
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'silent',
    ...env,
  };
}

interface Launched {
  readonly ready: Promise<Replica>;
  kill(): Promise<Exit>;
}

function launch(options: ReplicaOptions): Launched {
  const child = spawn(process.execPath, [main, 'serve', ...(options.args ?? [])], {
    cwd: root,
    env: environment(options),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid ?? 0;
  let written = '';
  let logged = '';
  child.stdout.on('data', (part: Buffer) => {
    logged += part.toString();
  });
  const exited = new Promise<Exit>((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
  const signalled = (signal: NodeJS.Signals): Promise<Exit> => {
    child.kill(signal);
    return exited;
  };
  const kill9 = (): Promise<Exit> => signalled('SIGKILL');
  living.add(kill9);
  exited.then(() => living.delete(kill9));
  const replica = {
    pid,
    exited,
    stderr: () => written,
    log: () => logged,
    kill9,
    async stop() {
      child.kill('SIGSTOP');
      // The signal can arrive after kill() has returned. In /proc, the state of a process follows its name in
      // parentheses.
      while (!/\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) await pause(1);
    },
    cont: () => void child.kill('SIGCONT'),
    end: () => {
      child.kill('SIGCONT'); // a stopped process does not see SIGTERM
      return signalled('SIGTERM');
    },
  };
  const ready = new Promise<Replica>((resolve, reject) => {
    child.stderr.on('data', (part: Buffer) => {
      written += part.toString();
      const [, url] = /\bready on (\S+)\n/.exec(written) ?? [];
      if (url !== undefined) resolve({ url, ...replica });
    });
    child.once('error', reject);
    exited.then(({ code, signal }) => reject(new Error(`replica ended with ${code ?? signal}: ${written}`)));
  });
  ready.catch(() => undefined); // the caller that waits for `ready` gets the error
  return { ready, kill: kill9 };
}

export async function built(): Promise<void> {
  building ??= build();
  await building;
}

export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  await built();
  return launch(options).ready;
}

export interface Pool {
  /** Returns the oldest spare replica, at once when it is ready. Then starts a new spare replica. */
  take(): Promise<Replica>;
  warm(): Promise<void>;
  /** Kills the spare replicas. A test must end the replicas that it has taken. */
  close(): Promise<void>;
}

/**
 * Keeps `size` spare replicas ready, so that a test does not wait for a new Node process after a kill. Resolves when
 * all are ready.
 */
export async function pool(size: number, options: ReplicaOptions): Promise<Pool> {
  await built();
  const spares = Array.from({ length: size }, () => launch(options));
  const warm = async (): Promise<void> => {
    await Promise.all(spares.map(({ ready }) => ready));
  };
  await warm();
  return {
    warm,
    take() {
      const next = launch(options);
      spares.push(next);
      return (spares.shift() ?? next).ready;
    },
    async close() {
      await Promise.all(spares.splice(0).map((spare) => spare.kill()));
    },
  };
}
