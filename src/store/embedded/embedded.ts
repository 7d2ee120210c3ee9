import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';

import postgres from 'postgres';

import { once } from '../../flow/once.ts';
import { admit, ourName } from './admission.ts';
import { findBinaries } from './binaries.ts';
import { clusterExists, makeCluster, superuser } from './cluster.ts';
import { closeToOthers, prepareDataDir, type Told } from './data-folder.ts';
import { type Account, hand, ownerOf } from './identity.ts';
import type { Lock } from './locks.ts';
import { passwordOf } from './loopback.ts';
import { type Platform, platformHere, type Reached } from './platform.ts';
import { type ClusterHost, livingPostmaster, reload, socketName, startOrAdopt, stopPostmaster } from './postmaster.ts';
import { StoreUnavailable } from './unavailable.ts';
import { watch } from './watch.ts';

export { StoreUnavailable } from './unavailable.ts';

/** A PostgreSQL that the gateway runs itself, reached by a socket in the data folder, or on Windows by 127.0.0.1. */
export interface EmbeddedStore {
  /**
   * The folder of the socket, or 127.0.0.1. Valid only in this process, which has a short path in place of a long one.
   */
  readonly host: string;
  readonly port: number;
  readonly database: 'gateway';
  /** The role that owns the database. It is not a superuser. */
  readonly username: string;
  /** The password of the role. Undefined for a socket, because the kernel names the user of the client. */
  readonly password?: string;
  readonly version: string;
  readonly origin: 'embedded' | 'path';
  readonly adopted: boolean;
  /** Ends this process's use of the server. The last gateway process that ends its use also stops the server. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions extends Told {
  readonly dataDir: string;
  readonly binaries?: 'embedded' | 'path';
  /** Default: the platform of this process. Tests run the ways of another platform here. */
  readonly platform?: Platform;
}

const database = 'gateway';

/** Seconds that a process waits while another process runs initdb, or starts or stops the server. */
const patience = 150;

/**
 * Opens the store in `<dataDir>/postgres`, with a new cluster at the first start. Uses a running server or starts one,
 * for any number of processes at the same time. Throws StoreUnavailable.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedStore> {
  const platform = options.platform ?? platformHere();
  prepareDataDir(resolve(options.dataDir));
  const dataDir = realpathSync(options.dataDir);
  return alone(platform, dataDir, (guard) => open(platform, dataDir, guard, options));
}

async function open(
  platform: Platform,
  dataDir: string,
  guard: Lock,
  { log, warn, binaries: want }: EmbeddedOptions,
): Promise<EmbeddedStore> {
  const cluster = join(dataDir, 'postgres');
  const account = platform.accountFor(cluster);
  const binaries = await findBinaries({ dataDir, account, want, oldestMajor: platform.oldestMajor, log });
  // If the PostgreSQL programs were copied to the data folder, the server's user must be able to enter the folder.
  closeToOthers(dataDir, { log, warn }, binaries.bin.startsWith(`${dataDir}/`) ? 0o711 : 0o700);
  warnOfSharedUser(cluster, account, warn);
  if (!clusterExists(cluster, binaries)) {
    log(`creating a database in ${cluster} with PostgreSQL ${binaries.version}`);
    await makeCluster(cluster, { platform, binaries, account, guard: guard.fd });
  } else if (account && ownerOf(cluster) === 0) {
    hand(cluster, account, { deep: true });
  }
  const site: ClusterHost = { cluster, platform, binaries, account, log };
  const { transport } = platform;
  const changed = admit(cluster, { transport, binaries, account, keep: livingPostmaster(site) !== undefined });
  const { adopted, port } = await startOrAdopt(site);
  if (adopted && changed) await reload(site);
  const holder = await hold(platform, dataDir);
  let reached: Reached | undefined;
  try {
    reached = platform.reach(cluster, socketName);
    const { host, close } = reached;
    const password = transport === 'loopback' ? { password: passwordOf(dataDir) } : {};
    const version = await ensureDatabase({ host, port, ...password });
    const unwatch = watch({
      lives: () => livingPostmaster(site) !== undefined,
      revive: () => alone(platform, dataDir, async () => void (await startOrAdopt(site, port))),
      log,
    });
    const stop = once(async () => {
      await unwatch();
      await alone(platform, dataDir, async () => {
        holder.release();
        await stopUnlessHeld(dataDir, site);
      });
      close();
    });
    const { origin } = binaries;
    return { host, port, database, username: database, ...password, version, origin, adopted, stop };
  } catch (error) {
    holder.release();
    reached?.close();
    await stopUnlessHeld(dataDir, site);
    throw error;
  }
}

/** Warns if PostgreSQL runs as nobody: other programs of this user can read and change the database files. */
function warnOfSharedUser(cluster: string, account: Account | undefined, warn: Told['warn']): void {
  if ((account?.name ?? ourName()) !== 'nobody') return;
  const fix = account
    ? `stop the gateway, make a user (useradd --system postgres), give it the files (chown -R postgres ${cluster})`
    : 'run the gateway as a user of its own, which owns its data folder,';
  warn?.(
    'PostgreSQL runs as the user nobody, so every other program of that user can read and change the database files: ' +
      `${fix} and start again, or set DATABASE_URL`,
  );
}

async function stopUnlessHeld(dataDir: string, site: ClusterHost): Promise<void> {
  const last = await site.platform.lock(join(dataDir, 'postgres.holders'), 'exclusive', 0);
  if (!last) return;
  try {
    await stopPostmaster(site);
  } finally {
    last.release();
  }
}

/**
 * Runs an action under the lock of the data folder, so that one process at a time makes, starts or stops the server.
 */
async function alone<T>(platform: Platform, dataDir: string, action: (guard: Lock) => Promise<T>): Promise<T> {
  const path = join(dataDir, 'postgres.lock');
  const guard = await platform.lock(path, 'exclusive', patience);
  if (!guard) {
    throw new StoreUnavailable(
      `Another gateway process has been starting or stopping the database for more than ${patience} s (it holds ` +
        `${path}): stop that process, or choose another folder with GATEWAY_DATA_DIR.`,
    );
  }
  try {
    return await action(guard);
  } finally {
    guard.release();
  }
}

/** Counts this process as a user of the server until the process ends. */
async function hold(platform: Platform, dataDir: string): Promise<Lock> {
  const path = join(dataDir, 'postgres.holders');
  const holder = await platform.lock(path, 'shared', patience);
  if (holder) return holder;
  throw new StoreUnavailable(`The lock ${path} is held by a program that is not the gateway: stop that program.`);
}

/** Makes the role and the database if missing, as after an interrupted first start. Returns the server's version. */
async function ensureDatabase(server: { host: string; port: number; password?: string }): Promise<string> {
  const sql = postgres({
    ...server,
    database: 'postgres',
    username: superuser,
    max: 1,
    connect_timeout: 10,
    onnotice: () => undefined,
  });
  try {
    const [row] = await sql<{ version: string; role: boolean; database: boolean }[]>`
      select current_setting('server_version') as version,
             exists (select from pg_roles where rolname = ${database}) as role,
             exists (select from pg_database where datname = ${database}) as database`;
    if (!row?.role) {
      const { password } = server;
      await sql.unsafe(`create role ${database} login${password === undefined ? '' : ` password '${password}'`}`);
    }
    if (!row?.database) await sql.unsafe(`create database ${database} owner ${database}`);
    return row?.version.split(' ')[0] ?? '';
  } finally {
    await sql.end({ timeout: 5 });
  }
}
