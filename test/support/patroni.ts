import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { childrenOf, isRoot, nobody, running } from './embedded.ts';
import { atFileEnd } from './ends.ts';
import { binariesAhead, type Disk, mountDisk } from './machine.ts';
import { freePort } from './port.ts';
import { scratch } from './scratch.ts';

export interface PatroniOptions {
  /** The size of each node's own disk, in megabytes. Without it, all nodes use the disk of this machine. */
  readonly disk?: number;
  /** How many seconds the clocks of the three nodes are ahead. */
  readonly clocks?: readonly [number, number, number];
}

/**
 * Three PostgreSQL servers under Patroni, one etcd, and an HAProxy that leads to the leader, as operators run them.
 * Replication is synchronous and strict: a commit is acknowledged only when a standby has it.
 */
export interface PatroniCluster {
  readonly nodes: readonly PatroniNode[];
  /** The address of a database with all three hosts. */
  hosts(database: string): string;
  /** Its address through HAProxy. */
  proxied(database: string): string;
  /** Waits for a leader that is none of `others`. Patroni's REST interface says who it is. */
  leader(...others: readonly PatroniNode[]): Promise<PatroniNode>;
  /** Waits until there is a leader that two standbys follow, one of them synchronously. Returns the leader. */
  whole(): Promise<PatroniNode>;
  /** Waits until Patroni names a synchronous standby. */
  synchronous(): Promise<PatroniNode>;
  /** Asks Patroni to make another node the leader. Patroni chooses the synchronous standby. */
  switchover(leader: PatroniNode): Promise<void>;
  /** Ends all its processes. Without it, they end with the test file. */
  close(): Promise<void>;
}

export interface PatroniNode {
  readonly name: string;
  /** How many seconds its clock is ahead. */
  readonly ahead: number;
  /** Its own disk, if the options gave it one. */
  readonly disk?: Disk | undefined;
  /** Runs `work` with a superuser's connection to this node. */
  with<T>(database: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T>;
  isLeader(): Promise<boolean>;
  /** Kills Patroni and all processes of PostgreSQL with SIGKILL. */
  kill(): Promise<void>;
  /** Starts Patroni, and Patroni starts PostgreSQL. */
  start(): void;
  /** Stops Patroni with SIGSTOP, or Patroni and all processes of PostgreSQL. Connections stay open and say nothing. */
  freeze(what: 'patroni' | 'all'): void;
  thaw(): void;
}

// Short, so that a failover takes seconds. Patroni wants loop_wait + 2 * retry_timeout <= ttl, and newer versions want a
// ttl of at least 20 s.
const TIMES = { ttl: Number(process.env['PATRONI_TTL'] ?? 6), loop_wait: 1, retry_timeout: 2 };
/** Milliseconds that a change of leaders or the return of a node may take on a busy machine. */
const PATIENCE = 90_000;

const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin`;
const versionOf = (program: string, option = '--version'): string | undefined => {
  const { status, stdout } = spawnSync(program, [option], { env: { PATH }, encoding: 'utf8' });
  return status === 0 ? (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? '') : undefined;
};
const isBefore = (version: string, other: string): boolean => version.localeCompare(other, 'en', { numeric: true }) < 0;

const VERSIONS = { patroni: versionOf('patroni'), etcd: versionOf('etcd'), haproxy: versionOf('haproxy', '-v') };
/** Patroni calls pg_basebackup and pg_rewind, which the embedded PostgreSQL lacks. */
const BIN = [
  ...(existsSync('/usr/lib/postgresql')
    ? readdirSync('/usr/lib/postgresql')
        .map(Number)
        .sort((a, b) => b - a)
    : []
  )
    .filter((major) => major >= 15)
    .map((major) => `/usr/lib/postgresql/${major}/bin`),
  ...PATH.split(':'),
].find((folder) =>
  ['postgres', 'initdb', 'pg_basebackup', 'pg_rewind'].every((name) => existsSync(join(folder, name))),
);

const missing = [
  ...Object.entries(VERSIONS).flatMap(([name, version]) => (version === undefined ? name : [])),
  ...(BIN === undefined ? ["PostgreSQL's server 15 or newer"] : []),
];
/** Why no such cluster can run here. Undefined if one can. */
export const withoutPatroni =
  missing.length === 0
    ? undefined
    : `The failover tests on Patroni are skipped, because this machine lacks ${missing.join(', ')}: install Debian's packages patroni, etcd-server, haproxy and postgresql.`;

/**
 * Before 3.0.3, Patroni can lose acknowledged writes over etcd's v3 interface: a leader whose Patroni was frozen takes
 * the leader's key again without a comparison, although another node has it. Debian 12 has 3.0.2, so use v2 there.
 */
const ETCD = isBefore(VERSIONS.patroni ?? '', '3.0.3') ? 'etcd' : 'etcd3';

const account = isRoot ? nobody : undefined;
const living = new Set<() => Promise<void>>();
atFileEnd(() => Promise.all([...living].map((close) => close())));

/** The parts of a node's configuration that differ from node to node are written by `configOf`. */
const BOOTSTRAP = {
  dcs: {
    ...TIMES,
    synchronous_mode: true,
    synchronous_mode_strict: true,
    // Patroni promotes no standby that lacks more of the log than this. The default of 1 MB can exclude the synchronous
    // standby of a leader that wrote fast, although it has all that was acknowledged.
    maximum_lag_on_failover: 1_073_741_824,
    // The default of 300 s lets a leader start again and again that cannot, for example because its disk is full.
    primary_start_timeout: 0,
    // By default a switchover waits without end for a leader that does not shut down. One with a full disk once did not.
    primary_stop_timeout: 10,
    postgresql: {
      use_pg_rewind: true,
      parameters: {
        fsync: 'off',
        shared_buffers: '32MB',
        max_connections: 100,
        // The default of 5 s would let the second standby follow a new leader late, and writes wait for it.
        wal_retrieve_retry_interval: '500ms',
      },
    },
  },
  initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, { auth: 'trust' }, 'no-sync'],
};

type Run = (name: string, program: string, args: readonly string[]) => ChildProcess;

interface Ports {
  readonly postgres: number;
  readonly rest: number;
}

/** With small files of its log, PostgreSQL soon needs room on a full disk. */
const onDisk = ({ dcs, initdb }: typeof BOOTSTRAP): object => ({
  dcs: {
    ...dcs,
    postgresql: {
      ...dcs.postgresql,
      parameters: { ...dcs.postgresql.parameters, min_wal_size: '2MB', max_wal_size: '16MB', wal_keep_size: '32MB' },
    },
  },
  initdb: [...initdb, { 'wal-segsize': '1' }],
});

const configOf = ({ name, folder, etcd, bin, disk, ...ports }: NodeOptions): object => ({
  scope: 'gateway',
  name,
  restapi: { listen: `127.0.0.1:${ports.rest}`, connect_address: `127.0.0.1:${ports.rest}` },
  [ETCD]: { host: `127.0.0.1:${etcd}` },
  bootstrap: disk === undefined ? BOOTSTRAP : onDisk(BOOTSTRAP),
  postgresql: {
    listen: `127.0.0.1:${ports.postgres}`,
    connect_address: `127.0.0.1:${ports.postgres}`,
    bin_dir: bin,
    data_dir: join(folder, 'data'),
    pgpass: join(folder, 'pgpass'),
    authentication: { superuser: { username: 'postgres' }, replication: { username: 'postgres' } },
    parameters: { unix_socket_directories: '' },
    pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
    remove_data_directory_on_rewind_failure: true,
    remove_data_directory_on_diverged_timelines: true,
  },
});

const proxyOf = (port: number, nodes: readonly (Ports & { name: string })[]): string => `
defaults
  mode tcp
  retries 2
  timeout connect 4s
  timeout client 30m
  timeout server 30m
  timeout check 2s
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${nodes.map((node) => `  server ${node.name} 127.0.0.1:${node.postgres} check port ${node.rest}`).join('\n')}
`;

/** What clients and standbys repeat many times a second would hide everything else. */
const REPEATED = /the database system is |LISTEN|waiting for WAL/;
const linesOf = (file: string): string[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => !REPEATED.test(line));

async function waited<T>(what: string, met: () => Promise<T | undefined>, logs: () => string): Promise<T> {
  for (const end = performance.now() + PATIENCE; ; await pause(50)) {
    const found = await met().catch(() => undefined);
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`Patroni has no ${what}:\n${logs()}`);
  }
}

async function asked(port: number, path: string, body?: object): Promise<Response> {
  const sent = body && { method: 'POST', body: JSON.stringify(body) };
  return fetch(`http://127.0.0.1:${port}${path}`, { ...sent, signal: AbortSignal.timeout(body ? 30_000 : 2_000) });
}

export async function openPatroni({ disk, clocks = [0, 0, 0] }: PatroniOptions = {}): Promise<PatroniCluster> {
  const folder = scratch('patroni');
  chmodSync(folder, 0o755);
  const children: ChildProcess[] = [];
  const run: Run = (name, program, args) => {
    const log = openSync(join(folder, `${name}.log`), 'a');
    const child = spawn(program, args, {
      ...account,
      cwd: '/',
      env: { PATH, HOME: folder, LANG: 'C.UTF-8' },
      stdio: ['ignore', log, log],
    });
    children.push(child);
    return child;
  };
  const own = (name: string): string => {
    const path = join(folder, name);
    mkdirSync(path, { mode: 0o700 });
    if (account) chownSync(path, account.uid, account.gid);
    return path;
  };
  const logs = (): string =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.log'))
      .map((name) => `${name}:\n${linesOf(join(folder, name)).slice(-15).join('\n')}`)
      .join('\n');

  const [etcd, peers, proxy] = [await freePort(), await freePort(), await freePort()];
  const at = (port: number): string => `http://127.0.0.1:${port}`;
  run('etcd', 'etcd', [
    ...['--data-dir', own('etcd'), '--listen-client-urls', at(etcd), '--advertise-client-urls', at(etcd)],
    ...['--listen-peer-urls', at(peers), '--initial-advertise-peer-urls', at(peers)],
    ...['--initial-cluster', `default=${at(peers)}`, ...(ETCD === 'etcd' ? ['--enable-v2'] : [])],
  ]);
  await waited('etcd', async () => ((await asked(etcd, '/health')).ok ? true : undefined), logs);

  const names = ['one', 'two', 'three'];
  const ports: (Ports & { name: string })[] = [];
  for (const name of names) ports.push({ name, postgres: await freePort(), rest: await freePort() });
  const restOf = (name: string): number => ports.find((of) => of.name === name)?.rest ?? 0;
  const nodes = ports.map((of, i) => {
    const ahead = clocks[i] ?? 0;
    const real = BIN ?? '';
    const bin = ahead === 0 ? real : binariesAhead(ahead, { from: real, to: join(folder, `${of.name}-bin`) });
    if (disk === undefined) return openNode({ ...of, folder: own(of.name), etcd, run, ahead, bin });
    const home = join(folder, of.name);
    return openNode({ ...of, folder: home, etcd, run, ahead, bin, disk: mountDisk(home, disk, account) });
  });
  writeFileSync(join(folder, 'haproxy.cfg'), proxyOf(proxy, ports));

  const leader: PatroniCluster['leader'] = (...others) =>
    waited(
      'leader',
      async () => {
        // A frozen node would answer late.
        const asked = nodes.filter((node) => !others.includes(node));
        const told = await Promise.all(asked.map((node) => node.isLeader()));
        return asked.find((_, i) => told[i]);
      },
      logs,
    );
  const whole = (): Promise<PatroniNode> =>
    waited(
      'leader with two standbys',
      async () => {
        const found = await leader();
        const [row] = await found.with(
          'postgres',
          (sql) =>
            sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM pg_stat_replication WHERE state = 'streaming'`,
        );
        // Only a standby that Patroni itself names as synchronous may become the leader.
        const told = await (await asked(restOf(found.name), '/cluster')).text();
        return row?.n === 2 && told.includes('sync_standby') ? found : undefined;
      },
      logs,
    );
  const close = async (): Promise<void> => {
    living.delete(close);
    process.off('exit', killAll);
    await Promise.all(nodes.map((node) => node.kill()));
    killAll();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const killAll = (): void => {
    for (const node of nodes) node.end();
    for (const child of children) child.kill('SIGKILL');
    for (const node of nodes) node.disk?.unmount();
  };
  living.add(close);
  process.once('exit', killAll);

  nodes[0]?.start();
  await leader();
  for (const node of nodes.slice(1)) node.start();
  run('haproxy', 'haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')]);
  await whole();
  return {
    nodes,
    leader,
    whole,
    synchronous: () =>
      waited(
        'synchronous standby',
        async () => {
          const told = await (await asked(restOf((await leader()).name), '/cluster')).json();
          const { members }: { members: readonly { name: string; role: string }[] } = told;
          return nodes.find(({ name }) => members.some((one) => one.name === name && one.role === 'sync_standby'));
        },
        logs,
      ),
    hosts: (database) =>
      `postgres://postgres@${ports.map((of) => `127.0.0.1:${of.postgres}`).join(',')}/${database}?target_session_attrs=read-write`,
    proxied: (database) => `postgres://postgres@127.0.0.1:${proxy}/${database}`,
    // Refused while Patroni names no synchronous standby, which a busy machine can cause at any time.
    switchover: ({ name }) =>
      waited(
        'switchover',
        async () => {
          const { ok } = await asked(restOf(name), '/switchover', { leader: name });
          return ok || (await leader()).name !== name ? true : undefined;
        },
        logs,
      ).then(() => undefined),
    close,
  };
}

interface NodeOptions extends Ports {
  readonly name: string;
  readonly folder: string;
  readonly etcd: number;
  readonly run: Run;
  readonly ahead: number;
  /** The folder of PostgreSQL's programs. */
  readonly bin: string;
  readonly disk?: Disk;
}

/** `end` sends SIGKILL to all processes of the node. */
function openNode(options: NodeOptions): PatroniNode & { end(): readonly number[] } {
  const { name, folder, run, ahead, disk, ...ports } = options;
  const config = join(folder, 'patroni.yml');
  writeFileSync(config, JSON.stringify(configOf(options)));
  chmodSync(config, 0o644);
  let patroni: ChildProcess | undefined;
  /** Patroni is no parent of PostgreSQL, and PostgreSQL's processes each have a group of their own. */
  const database = (): number[] => {
    try {
      const postmaster = Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0]);
      return /postgres/.test(readFileSync(`/proc/${postmaster}/cmdline`, 'utf8'))
        ? [postmaster, ...childrenOf(postmaster)]
        : [];
    } catch {
      return []; // PostgreSQL does not run
    }
  };
  const signal = (pids: readonly (number | undefined)[], which: NodeJS.Signals): void => {
    for (const pid of pids) {
      try {
        if (pid !== undefined) process.kill(pid, which);
      } catch (error) {
        // A process of the list can have ended meanwhile.
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
      }
    }
  };
  const end = (): readonly number[] => {
    const pids = [...(patroni?.pid === undefined ? [] : [patroni.pid]), ...database()];
    signal(pids, 'SIGKILL');
    return pids;
  };
  return {
    name,
    ahead,
    disk,
    end,
    with: async (of, work) => {
      const sql = postgres(`postgres://postgres@127.0.0.1:${ports.postgres}/${of}`, {
        max: 1,
        connect_timeout: 2,
        onnotice: () => undefined,
      });
      try {
        return await work(sql);
      } finally {
        await sql.end({ timeout: 1 });
      }
    },
    isLeader: () =>
      asked(ports.rest, '/primary').then(
        ({ status }) => status === 200,
        () => false,
      ),
    async kill() {
      const pids = end();
      while (pids.some(running)) await pause(10);
    },
    start: () => {
      patroni = run(name, 'patroni', [config]);
    },
    freeze: (what) => signal([patroni?.pid, ...(what === 'all' ? database() : [])], 'SIGSTOP'),
    thaw: () => signal([...database(), patroni?.pid], 'SIGCONT'),
  };
}
