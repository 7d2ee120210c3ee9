import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import type { Binaries } from './binaries.ts';
import type { Account } from './identity.ts';
import type { Lock } from './locks.ts';
import { control, freePort, loopback, starting } from './loopback.ts';
import { markOf, type Platform } from './platform.ts';
import { anywhere, programEnvironment } from './run.ts';
import { textOf } from './text.ts';
import { errorCode, StoreUnavailable } from './unavailable.ts';

/** The port of a server with a socket is only part of the socket's name. This server listens on no network. */
const socketPort = 5432;

export const socketName = `.s.PGSQL.${socketPort}`;

/** The cluster and what runs it. */
export interface ClusterHost {
  readonly cluster: string;
  readonly platform: Platform;
  readonly binaries: Binaries;
  readonly account: Account | undefined;
  readonly log: (message: string) => void;
}

/** A server that accepts connections. `adopted`: true when the server ran already. */
export interface Started {
  readonly adopted: boolean;
  readonly port: number;
}

/**
 * In seconds. A start can take long after a crash (write-ahead log). Processes left from an earlier server end soon.
 */
const startLimit = 120;
const leftoverLimit = 10;
const stopLimit = 10;

/** The settings of a server with a socket. `folder`: the data folder as PostgreSQL names it. */
const onSocket = (folder: string): Record<string, string> => ({
  listen_addresses: '',
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  port: String(socketPort),
  // The two files that say who may connect (admission.ts), instead of those in postgresql.conf.
  hba_file: `${folder}/pg_hba.conf`,
  ident_file: `${folder}/pg_ident.conf`,
});

const onLoopback = (port: number): Record<string, string> => ({
  listen_addresses: loopback,
  unix_socket_directories: '',
  port: String(port),
});

const settings = {
  cluster_name: 'gateway',
  max_connections: '100',
  shared_buffers: '128MB',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Only events of the server. The gateway reports failed statements: PostgreSQL's report can contain personal data.
  logging_collector: 'off',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
};

/**
 * Uses the running server of this cluster, or starts a new one. Returns when the server accepts connections. The caller
 * must hold the lock of the data folder. Every PostgreSQL process inherits a kernel lock (`postgres.running`), which
 * shows whether any of these processes still runs. Windows has no such lock, and PostgreSQL itself looks for processes.
 *
 * `port`: the TCP port on which the server listened before. Clients of this process know only that port.
 */
export async function startOrAdopt(site: ClusterHost, port?: number): Promise<Started> {
  const { cluster, platform } = site;
  const deadline = Date.now() + leftoverLimit * 1000;
  for (;;) {
    const running = livingPostmaster(site);
    if (running !== undefined && (await answers(site))) {
      if (await ready(cluster, running, () => platform.lives(running, cluster)))
        return { adopted: true, port: pidFile(cluster)?.port ?? socketPort };
      continue;
    }
    const mark = await platform.lock(markOf(cluster), 'exclusive', 0);
    if (mark) {
      try {
        const started = await (platform.transport === 'socket' ? start(site, mark) : startControlled(site, port));
        if (started !== undefined) return { adopted: false, port: started };
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

/** True when the process of postmaster.pid is a PostgreSQL. Without signals, only pg_ctl can ask the process. */
const answers = async (site: ClusterHost): Promise<boolean> =>
  site.platform.transport === 'socket' || control(site.cluster, site, 'status');

/**
 * Stops the server: SIGINT closes its connections and writes a checkpoint. Ten seconds later comes SIGQUIT. Without
 * signals, pg_ctl does the same.
 */
export async function stopPostmaster(site: ClusterHost): Promise<void> {
  const pid = livingPostmaster(site);
  if (pid === undefined) return;
  for (const [signal, mode] of [
    ['SIGINT', 'fast'],
    ['SIGQUIT', 'immediate'],
  ] as const) {
    if (site.platform.transport === 'socket') send(pid, signal);
    else await control(site.cluster, site, 'stop', '-W', '-m', mode);
    for (const deadline = Date.now() + stopLimit * 1000; Date.now() < deadline; await pause(10)) {
      if (!site.platform.lives(pid, site.cluster)) return;
    }
    site.log(`PostgreSQL (process ${pid}) did not stop within ${stopLimit} s of ${signal}`);
  }
}

/** Makes the running server reload the two files that say who may connect. The change applies to new connections. */
export async function reload(site: ClusterHost): Promise<void> {
  const pid = livingPostmaster(site);
  if (pid === undefined) return;
  if (site.platform.transport === 'socket') send(pid, 'SIGHUP');
  else await control(site.cluster, site, 'reload');
}

/**
 * Starts a server and returns its port. Returns undefined when processes of an earlier server still run. Those processes
 * end by themselves.
 */
async function start(
  { cluster, platform, binaries, account, log }: ClusterHost,
  mark: Lock,
): Promise<number | undefined> {
  sweep(cluster);
  const logPath = join(dirname(cluster), 'postgres.log');
  const begin = rotate(logPath);
  const output = openSync(logPath, 'a', 0o600);
  const folder = platform.open(cluster);
  const args = Object.entries({ ...onSocket(folder.path), ...settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const child = spawn(join(binaries.bin, 'postgres'), ['-D', folder.path, ...args], {
    cwd: anywhere,
    env: programEnvironment(),
    // A process group of its own, so that Ctrl-C does not reach PostgreSQL. The gateway stops PostgreSQL when it ends
    // itself.
    detached: true,
    stdio: ['ignore', output, output, mark.fd, ...folder.inherit],
    ...(account && { uid: account.uid, gid: account.gid }),
  });
  folder.close();
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
  if (pid !== undefined && (await ready(cluster, pid, () => ended === undefined, log))) return socketPort;
  if (pid === undefined) await pause(0);
  return failed(logPath, begin, { ended });
}

/** Starts a server with pg_ctl. The server listens on `port`, or else on a free port. */
async function startControlled(site: ClusterHost, port: number | undefined): Promise<number | undefined> {
  const { cluster, log } = site;
  const logPath = join(dirname(cluster), 'postgres.log');
  const begin = rotate(logPath);
  // pg_ctl would make the log readable for other users.
  closeSync(openSync(logPath, 'a', 0o600));
  const told = setTimeout(log, 3000, SLOW);
  const listening = port ?? (await freePort());
  const args = starting(cluster, startLimit, { ...onLoopback(listening), ...settings });
  const started = await control(cluster, site, ...args);
  clearTimeout(told);
  return started ? listening : failed(logPath, begin, { anyPort: port === undefined });
}

/** Throws the reason in the log since `begin`. Undefined if a new try can succeed (`anyPort`: on another free port). */
function failed(
  logPath: string,
  begin: number,
  { ended, anyPort = false }: { ended?: string | undefined; anyPort?: boolean },
): undefined {
  const said = readFileSync(logPath).subarray(begin).toString();
  if (/pre-existing shared memory block|lock file ".*" already exists/.test(said)) return undefined;
  if (anyPort && said.includes('could not bind')) return undefined;
  const fatal = said.split('\n').findLast((line) => /FATAL|PANIC|error|could not/i.test(line));
  throw new StoreUnavailable(
    `PostgreSQL did not start (${fatal?.replace(/^.*?(FATAL|PANIC):\s*/, '') ?? ended ?? 'no reason given'}): see ` +
      `${logPath}, fix the cause, or set DATABASE_URL to another PostgreSQL server.`,
  );
}

const SLOW = 'PostgreSQL is starting; after a crash it replays its write-ahead log first';

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
      log(SLOW);
    }
    await pause(10);
  }
  return false;
}

export function livingPostmaster({ cluster, platform }: Pick<ClusterHost, 'cluster' | 'platform'>): number | undefined {
  const pid = pidFile(cluster)?.pid;
  return pid !== undefined && platform.lives(pid, cluster) ? pid : undefined;
}

/**
 * Removes files of an earlier server. PostgreSQL could take a program with its old process id for a running server. The
 * caller holds the kernel lock, so no process of the cluster is alive.
 */
function sweep(cluster: string): void {
  for (const name of ['postmaster.pid', `${socketName}.lock`]) rmSync(join(cluster, name), { force: true });
}

function pidFile(cluster: string): { pid: number; port: number; state: string | undefined } | undefined {
  const lines = textOf(join(cluster, 'postmaster.pid'))?.split('\n') ?? [];
  const pid = Number(lines[0]);
  return Number.isInteger(pid) && pid > 0 ? { pid, port: Number(lines[3]), state: lines[7]?.trim() } : undefined;
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
