import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/config/package.ts';
import { atFileEnd, mustEnd } from './ends.ts';

/**
 * Real gateway processes (`dist/src/main.js serve`) that tests kill and stop. One that a test leaves behind is killed
 * after the test file or when the test worker exits.
 */
export interface Replica {
  readonly url: string;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  stderr(): string;
  /** Empty unless LOG_LEVEL is set. */
  log(): string;
  kill9(): Promise<Exit>;
  /** Sends SIGSTOP. Resolves when the kernel has stopped the process, which does not notice it. */
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
  /** The address of the database, or of a proxy: `proxy.url(database.name)`. */
  readonly databaseUrl: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const root = fileURLToPath(packageRoot);
const main = join(root, 'dist/src/main.js');
const living = new Set<() => Promise<Exit>>();
const killAll = (): Promise<Exit[]> => Promise.all([...living].map((kill) => kill()));
let folder: string | undefined;

process.once('exit', killAll);
atFileEnd(async () => {
  await killAll();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
});

/**
 * Only the test's own settings: a developer's DATABASE_URL must not reach a replica. npm's variables are left out, as
 * for a service.
 */
function environment({ databaseUrl, env }: ReplicaOptions): NodeJS.ProcessEnv {
  mustEnd();
  folder ??= mkdtempSync(join(tmpdir(), 'gateway-replicas-'));
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(GATEWAY_|PG|VITEST|NODE_|npm_|DATABASE_URL)/.test(name),
  );
  return {
    ...Object.fromEntries(inherited),
    DATABASE_URL: databaseUrl,
    // The replicas of a test file share one folder, as those of one installation share their settings.
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
      // The signal can arrive after kill() has returned. In /proc, a process's state follows its name in parentheses.
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

export const startReplica = (options: ReplicaOptions): Promise<Replica> => launch(options).ready;

export interface Pool {
  /** The oldest spare replica, when it is ready. Starts a new one in its place. */
  take(): Promise<Replica>;
  warm(): Promise<void>;
  /** Kills the spare replicas. A test must end those that it has taken. */
  close(): Promise<void>;
}

/**
 * Keeps `size` spare replicas ready, so that a test need not wait for a new Node process. Resolves when all are ready.
 * `most`: the number of replicas that the test takes. After that, no spare replica starts.
 */
export async function pool(size: number, options: ReplicaOptions, most = Number.POSITIVE_INFINITY): Promise<Pool> {
  let left = most - size;
  const spares = Array.from({ length: size }, () => launch(options));
  const warm = async (): Promise<void> => {
    await Promise.all(spares.map(({ ready }) => ready));
  };
  await warm();
  return {
    warm,
    take() {
      if (left-- > 0) spares.push(launch(options));
      return (spares.shift() ?? launch(options)).ready;
    },
    async close() {
      await Promise.all(spares.splice(0).map((spare) => spare.kill()));
    },
  };
}
