import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, readlinkSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import type { Binaries } from './binaries.ts';
import { inheritedFolder } from './cluster.ts';
import { type Account, ownerOf } from './identity.ts';
import { type Lock, lock } from './locks.ts';
import { anywhere, programEnvironment } from './run.ts';
import { errorCode, StoreUnavailable } from './unavailable.ts';

/** The port is only part of the socket's name. The server listens on no network. */
export const port = 5432;

/**
 * Three limits in seconds. A start may take long, because PostgreSQL replays its write-ahead log after a crash.
 * Processes that are left over from an earlier server end within moments.
 */
const startLimit = 120;
const leftoverLimit = 10;
const stopLimit = 10;

const settings = {
  listen_addresses: '',
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  port: String(port),
  // Settings that name the two files which say who may connect (admission.ts). These settings override the file names
  // in postgresql.conf.
  hba_file: `${inheritedFolder}/pg_hba.conf`,
  ident_file: `${inheritedFolder}/pg_ident.conf`,
  cluster_name: 'gateway',
  max_connections: '100',
  shared_buffers: '128MB',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // PostgreSQL logs only events of the server itself. The gateway reports failed statements, because PostgreSQL's
  // report can contain personal data.
  logging_collector: 'off',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
};

/**
 * Uses the running server of this cluster, or starts a new one. Returns when the server accepts connections. The caller
 * must hold the lock of the data folder. Every PostgreSQL process inherits a kernel lock (`postgres.running`), which
 * shows whether any of these processes still runs.
 */
export async function startOrAdopt(
  cluster: string,
  { binaries, account, log }: { binaries: Binaries; account: Account | undefined; log: (message: string) => void },
): Promise<{ adopted: boolean }> {
  const deadline = Date.now() + leftoverLimit * 1000;
  for (;;) {
    const running = livingPostmaster(cluster);
    if (running !== undefined) {
      if (await ready(cluster, running, () => alive(running, cluster))) return { adopted: true };
      continue;
    }
    const mark = await lock(join(dirname(cluster), 'postgres.running'), 'exclusive', 0);
    if (mark) {
      try {
        if (await start(cluster, { binaries, account, mark, log })) return { adopted: false };
      } finally {
        mark.release();
      }
    }
    if (Date.now() > deadline) {
      throw new StoreUnavailable(
        `Processes of an earlier PostgreSQL still hold the database in ${cluster}: stop them (they may belong to a gateway ` +
          'in another container), or choose another folder with GATEWAY_DATA_DIR.',
      );
    }
    await pause(100);
  }
}

/**
 * Stops the server. After SIGINT, the server closes its connections and writes a checkpoint. If the server still runs
 * ten seconds later, the server gets SIGQUIT.
 */
export async function stopPostmaster(cluster: string, log: (message: string) => void): Promise<void> {
  const pid = livingPostmaster(cluster);
  if (pid === undefined) return;
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    send(pid, signal);
    for (const deadline = Date.now() + stopLimit * 1000; Date.now() < deadline; await pause(10)) {
      if (!alive(pid, cluster)) return;
    }
    log(`PostgreSQL (process ${pid}) did not stop within ${stopLimit} s of ${signal}`);
  }
}

/** Makes the running server reload the two files that say who may connect. The change applies to new connections. */
export function reload(cluster: string): void {
  const pid = livingPostmaster(cluster);
  if (pid !== undefined) send(pid, 'SIGHUP');
}

/** Starts a server. Returns false when processes of an earlier server still run. Those processes end by themselves. */
async function start(
  cluster: string,
  options: { binaries: Binaries; account: Account | undefined; mark: Lock; log: (message: string) => void },
): Promise<boolean> {
  const { binaries, account, mark, log } = options;
  sweep(cluster);
  const logPath = join(dirname(cluster), 'postgres.log');
  const begin = rotate(logPath);
  const output = openSync(logPath, 'a', 0o600);
  const folder = openSync(cluster, 'r');
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(join(binaries.bin, 'postgres'), ['-D', inheritedFolder, ...args], {
    cwd: anywhere,
    env: programEnvironment(),
    // PostgreSQL gets its own process group, so that Ctrl-C in the gateway's terminal does not reach PostgreSQL. The
    // gateway stops PostgreSQL itself at the end of its own shutdown.
    detached: true,
    stdio: ['ignore', output, output, mark.fd, folder],
    ...(account && { uid: account.uid, gid: account.gid }),
  });
  closeSync(folder);
  closeSync(output);
  child.unref();
  let ended: string | undefined;
  child.once('error', (error) => {
    ended = error.message;
  });
  child.once('exit', (status, signal) => {
    ended = `ended with ${signal ?? status}`;
  });
  const { pid } = child;
  if (pid !== undefined && (await ready(cluster, pid, () => ended === undefined, log))) return true;
  if (pid === undefined) await pause(0);
  const said = readFileSync(logPath).subarray(begin).toString();
  if (/pre-existing shared memory block|lock file ".*" already exists/.test(said)) return false;
  const fatal = said.split('\n').findLast((line) => /FATAL|PANIC|error|could not/i.test(line));
  throw new StoreUnavailable(
    `PostgreSQL did not start (${fatal?.replace(/^.*?(FATAL|PANIC):\s*/, '') ?? ended ?? 'no reason given'}): see ` +
      `${logPath}, fix the cause, or set DATABASE_URL to another PostgreSQL server.`,
  );
}

/** Waits until the file postmaster.pid says "ready". Returns false if `lives` returns false before that. */
async function ready(
  cluster: string,
  pid: number,
  lives: () => boolean,
  log: (message: string) => void = () => undefined,
): Promise<boolean> {
  const began = Date.now();
  let told = false;
  while (lives()) {
    const file = pidFile(cluster);
    if (file?.pid === pid && file.state === 'ready') return true;
    const waited = Date.now() - began;
    if (waited > startLimit * 1000) {
      throw new StoreUnavailable(
        `PostgreSQL (process ${pid}) was not ready within ${startLimit} s: it may be recovering a large database, so ` +
          'look into postgres.log in the data folder and start the gateway again later.',
      );
    }
    if (waited > 3000 && !told) {
      told = true;
      log('PostgreSQL is starting; after a crash it replays its write-ahead log first');
    }
    await pause(10);
  }
  return false;
}

export function livingPostmaster(cluster: string): number | undefined {
  const pid = pidFile(cluster)?.pid;
  return pid !== undefined && alive(pid, cluster) ? pid : undefined;
}

/**
 * True when the process is a PostgreSQL of this cluster. The process id may have been reused. So the working folder of
 * the process must be the folder of the cluster. In a container, root cannot always read the working folder of another
 * user's process. In this case, only the program's name and the owner decide.
 */
function alive(pid: number, cluster: string): boolean {
  try {
    const [program = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    if (!/postgres|postmaster/.test(program) || ownerOf(`/proc/${pid}`) !== ownerOf(cluster)) return false;
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(cluster);
  } catch (error) {
    return errorCode(error) === 'EACCES';
  }
}

/**
 * Removes the files of an earlier server. Its process id may now belong to another program, and PostgreSQL would take
 * that program for a running server. The caller holds the kernel lock, so no process of the cluster is alive.
 */
function sweep(cluster: string): void {
  for (const name of ['postmaster.pid', `.s.PGSQL.${port}.lock`]) rmSync(join(cluster, name), { force: true });
}

function pidFile(cluster: string): { pid: number; state: string | undefined } | undefined {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
    const pid = Number(lines[0]);
    return Number.isInteger(pid) && pid > 0 ? { pid, state: lines[7]?.trim() } : undefined;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function send(pid: number, signal: 'SIGINT' | 'SIGQUIT' | 'SIGHUP'): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

/** Renames a log of 4 MB or more, and keeps only one old log. Returns the offset at which new entries start. */
function rotate(path: string): number {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < 4 << 20) return size;
  renameSync(path, `${path}.1`);
  return 0;
}
