import { closeSync, openSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';

import postgres from 'postgres';

import { admit, ourName } from './admission.ts';
import { findBinaries } from './binaries.ts';
import { clusterExists, makeCluster, superuser } from './cluster.ts';
import { closeToOthers, prepareDataDir, type Told } from './data-folder.ts';
import { type Account, accountFor, hand, ownerOf } from './identity.ts';
import { type Lock, lock } from './locks.ts';
import { livingPostmaster, port, reload, startOrAdopt, stopPostmaster } from './postmaster.ts';
import { StoreUnavailable } from './unavailable.ts';
import { watch } from './watch.ts';

export { StoreUnavailable } from './unavailable.ts';

/** A PostgreSQL that the gateway runs itself. The gateway reaches it over a socket in the data folder. */
export interface EmbeddedStore {
  /**
   * The path of the folder that holds the socket. Only this process can use the path, because a long path is replaced
   * by a path through a file descriptor of this process.
   */
  readonly host: string;
  readonly port: number;
  readonly database: 'gateway';
  /** The role that owns the database. It is not a superuser. */
  readonly username: string;
  readonly version: string;
  readonly origin: 'embedded' | 'path';
  readonly adopted: boolean;
  /** Ends this process's use of the server. The last gateway process that ends its use also stops the server. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions extends Told {
  readonly dataDir: string;
  readonly binaries?: 'embedded' | 'path';
}

const database = 'gateway';

/** The largest length of a socket's path in bytes, without the final zero. */
const socketPathLimit = 107;

/** Seconds that a process waits while another process runs initdb, or starts or stops the server. */
const patience = 150;

/**
 * Opens the store in `<dataDir>/postgres`. The first start makes the cluster. A server that already runs is used;
 * otherwise a server is started. Any number of processes can do this at the same time. Throws StoreUnavailable.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedStore> {
  if (process.platform !== 'linux') {
    throw new StoreUnavailable('The embedded store runs on Linux only: set DATABASE_URL to a PostgreSQL server.');
  }
  prepareDataDir(resolve(options.dataDir));
  const dataDir = realpathSync(options.dataDir);
  return alone(dataDir, (guard) => open(dataDir, guard, options));
}

async function open(
  dataDir: string,
  guard: Lock,
  { log, warn, binaries: want }: EmbeddedOptions,
): Promise<EmbeddedStore> {
  const cluster = join(dataDir, 'postgres');
  const account = accountFor(cluster);
  const binaries = await findBinaries({ dataDir, account, want, log });
  // If the PostgreSQL programs were copied to the data folder, the server's user must be able to enter the folder.
  closeToOthers(dataDir, { log, warn }, binaries.bin.startsWith(`${dataDir}/`) ? 0o711 : 0o700);
  warnOfSharedUser(cluster, account, warn);
  if (!clusterExists(cluster, binaries)) {
    log(`creating a database in ${cluster} with PostgreSQL ${binaries.version}`);
    await makeCluster(cluster, { binaries, account, guard: guard.fd });
  } else if (account && ownerOf(cluster) === 0) {
    hand(cluster, account, { deep: true });
  }
  const changed = admit(cluster, { binaries, account, keep: livingPostmaster(cluster) !== undefined });
  const { adopted } = await startOrAdopt(cluster, { binaries, account, log });
  if (adopted && changed) reload(cluster);
  const holder = await hold(dataDir);
  const socket = socketFolder(cluster);
  try {
    const version = await ensureDatabase(socket.host);
    const unwatch = watch({
      lives: () => livingPostmaster(cluster) !== undefined,
      revive: () => alone(dataDir, async () => void (await startOrAdopt(cluster, { binaries, account, log }))),
      log,
    });
    const leave = async () => {
      await unwatch();
      await alone(dataDir, async () => {
        holder.release();
        await stopUnlessHeld(dataDir, cluster, log);
      });
      socket.close();
    };
    let leaving: Promise<void> | undefined;
    const stop = () => {
      leaving ??= leave();
      return leaving;
    };
    const { origin } = binaries;
    return { host: socket.host, port, database, username: database, version, origin, adopted, stop };
  } catch (error) {
    holder.release();
    socket.close();
    await stopUnlessHeld(dataDir, cluster, log);
    throw error;
  }
}

/**
 * Warns when PostgreSQL runs as the user nobody. Other programs of this user cannot connect to PostgreSQL, but they can
 * read and change the database files.
 */
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

/**
 * Returns a short path to the socket folder, because a socket's path must be short. A path through a file descriptor is
 * short for every folder.
 */
function socketFolder(cluster: string): { host: string; close(): void } {
  const path = join(cluster, `.s.PGSQL.${port}`);
  if (Buffer.byteLength(path) <= socketPathLimit) return { host: cluster, close: () => undefined };
  const folder = openSync(cluster, 'r');
  return { host: `/proc/self/fd/${folder}`, close: () => closeSync(folder) };
}

async function stopUnlessHeld(dataDir: string, cluster: string, log: (message: string) => void): Promise<void> {
  const last = await lock(join(dataDir, 'postgres.holders'), 'exclusive', 0);
  if (!last) return;
  try {
    await stopPostmaster(cluster, log);
  } finally {
    last.release();
  }
}

/**
 * Runs an action under the lock of the data folder. So only one process at a time makes, starts or stops the server.
 */
async function alone<T>(dataDir: string, action: (guard: Lock) => Promise<T>): Promise<T> {
  const path = join(dataDir, 'postgres.lock');
  const guard = await lock(path, 'exclusive', patience);
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
async function hold(dataDir: string): Promise<Lock> {
  const path = join(dataDir, 'postgres.holders');
  const holder = await lock(path, 'shared', patience);
  if (holder) return holder;
  throw new StoreUnavailable(`The lock ${path} is held by a program that is not the gateway: stop that program.`);
}

/**
 * Makes the role and the database if they are missing, for example after an interrupted first start. Returns the
 * version of the server.
 */
async function ensureDatabase(host: string): Promise<string> {
  const sql = postgres({
    host,
    port,
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
    if (!row?.role) await sql.unsafe(`create role ${database} login`);
    if (!row?.database) await sql.unsafe(`create database ${database} owner ${database}`);
    return row?.version.split(' ')[0] ?? '';
  } finally {
    await sql.end({ timeout: 5 });
  }
}
