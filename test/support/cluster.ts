import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { type Binaries, findBinaries } from '../../src/store/embedded/binaries.ts';
import { linux } from '../../src/store/embedded/platform.ts';
import { freePort } from './port.ts';
import { scratch } from './scratch.ts';

/** A PostgreSQL server on TCP for one test. Its superuser needs no password. It can have streaming replicas. */
export interface Cluster {
  readonly port: number;
  url(database: string): string;
  sql(database: string): postgres.Sql;
  replica(): Promise<Cluster>;
  /** Stops the server like a crash of the machine. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Stops the server as an operator does, and puts its data into this new folder, for `openCluster`. */
  leave(to: string): Promise<void>;
  close(): Promise<void>;
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
  shared_buffers: '32MB',
  max_connections: '60',
  wal_keep_size: '256MB',
  // After a restart, a replica must soon ask for the log again.
  wal_retrieve_retry_interval: '100ms',
  log_min_messages: 'fatal',
};

// PostgreSQL refuses to run as root.
const account = process.geteuid?.() === 0 ? { name: 'nobody', uid: 65534, gid: 65534 } : undefined;
const as = account && { uid: account.uid, gid: account.gid };

const living = new Set<Cluster>();

export const closeClusters = async (): Promise<void> => {
  await Promise.all([...living].map((one) => one.close()));
};

/**
 * `settings` replace those of the tests, also at the replicas. `from` is the data of a server that has ended: the new
 * server has a copy, with the system identifier of the other one.
 */
export async function openCluster(settings: Readonly<Record<string, string>> = {}, from?: string): Promise<Cluster> {
  const folder = scratch('cluster');
  chmodSync(folder, 0o755);
  const binaries = await findBinaries({
    dataDir: folder,
    account,
    want: process.env['TEST_POSTGRES'] === 'path' ? 'path' : undefined,
    oldestMajor: linux.oldestMajor,
    log: () => undefined,
  });
  const data = join(folder, 'data');
  if (from === undefined) await makeData(data, binaries);
  else await ended(spawn('cp', ['-a', from, data], { stdio: 'ignore' }));
  return serve(folder, binaries, settings);
}

async function makeData(data: string, binaries: Binaries): Promise<void> {
  mkdirSync(data, { mode: 0o700 });
  own(data);
  await ended(
    spawn(
      join(binaries.bin, 'initdb'),
      [
        ...['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', `--locale=${linux.locale}`, '--no-sync'],
        ...(binaries.major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []),
      ],
      { ...as, cwd: '/', stdio: 'ignore' },
    ),
  );
}

async function ended(child: ChildProcess): Promise<void> {
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${child.spawnfile} ended with ${code}`);
}

async function serve(folder: string, binaries: Binaries, settings: Readonly<Record<string, string>>): Promise<Cluster> {
  const data = join(folder, 'data');
  const port = await freePort();
  const pools: postgres.Sql[] = [];
  let child: ChildProcess | undefined;
  const url = (database: string): string => `postgres://postgres@127.0.0.1:${port}/${database}`;
  // The server's children notice the end of the server and end. Afterwards, the port is free.
  const stop = async (signal: 'SIGQUIT' | 'SIGINT'): Promise<void> => {
    if (!child) return;
    const closed = once(child, 'close');
    child.kill(signal);
    child = undefined;
    await closed;
  };
  const kill = (): Promise<void> => stop('SIGQUIT');
  const endPools = (): Promise<unknown> => Promise.all(pools.splice(0).map((pool) => pool.end({ timeout: 1 })));
  const start = async (): Promise<void> => {
    const args = Object.entries({ ...SETTINGS, ...settings, port: `${port}` }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    child = spawn(join(binaries.bin, 'postgres'), ['-D', data, ...args], { ...as, cwd: '/', stdio: 'ignore' });
    for (const end = performance.now() + 20_000; ; await pause(50)) {
      const probe = postgres(url('postgres'), { max: 1, onnotice: () => undefined, connect_timeout: 2 });
      const up = await probe`SELECT 1`.then(
        () => true,
        () => false,
      );
      await probe.end({ timeout: 1 });
      if (up) return;
      if (performance.now() > end) throw new Error('PostgreSQL does not answer');
    }
  };
  await start();
  const cluster: Cluster = {
    port,
    url,
    start,
    kill,
    sql: (database) => {
      const pool = postgres(url(database), { max: 2, onnotice: () => undefined });
      pools.push(pool);
      return pool;
    },
    replica: async () => {
      const other = scratch('cluster');
      chmodSync(other, 0o755);
      await backup({ data, to: join(other, 'data'), primary: url('postgres'), port });
      return serve(other, binaries, settings);
    },
    leave: async (to) => {
      await endPools();
      await stop('SIGINT');
      await ended(spawn('cp', ['-a', data, to], { stdio: 'ignore' }));
      await cluster.close();
    },
    close: async () => {
      await endPools();
      await kill();
      living.delete(cluster);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  living.add(cluster);
  return cluster;
}

/** A low-level base backup over one connection, because the embedded binaries lack pg_basebackup. */
async function backup({ data, to, primary, port }: { data: string; to: string; primary: string; port: number }) {
  const sql = postgres(primary, { max: 1, onnotice: () => undefined });
  await sql`SELECT pg_backup_start('test', true)`;
  const skipped = /\/(postmaster\.(pid|opts)|pg_wal\/.+|pg_replslot\/.+)$/;
  cpSync(data, to, { recursive: true, filter: (path) => !skipped.test(path) });
  const [stopped] = await sql<{ labelfile: string }[]>`SELECT labelfile FROM pg_backup_stop(false)`;
  await sql.end();
  writeFileSync(join(to, 'backup_label'), stopped?.labelfile ?? '');
  writeFileSync(join(to, 'standby.signal'), '');
  writeFileSync(
    join(to, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres application_name=follower'\n`,
  );
  own(to);
  for (const one of readdirSync(to, { recursive: true, encoding: 'utf8' })) own(join(to, one));
  chmodSync(to, 0o700);
}

function own(path: string): void {
  if (account) chownSync(path, account.uid, account.gid);
}
