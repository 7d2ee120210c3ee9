import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { childrenOf, isRoot, nobody, running } from './embedded.js';
import { atFileEnd } from './ends.js';
import { freePort } from './port.js';
import { scratch } from './scratch.js';
// Short, so that a failover takes seconds. Patroni wants loop_wait + 2 * retry_timeout <= ttl, and newer versions want a
// ttl of at least 20 s.
const TIMES = { ttl: Number(process.env['PATRONI_TTL'] ?? 6), loop_wait: 1, retry_timeout: 2 };
/** Milliseconds that a change of leaders or the return of a node may take on a busy machine. */
const PATIENCE = 90_000;
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin`;
const versionOf = (program, option = '--version') => {
    const { status, stdout } = spawnSync(program, [option], { env: { PATH }, encoding: 'utf8' });
    return status === 0 ? (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? '') : undefined;
};
const isBefore = (version, other) => version.localeCompare(other, 'en', { numeric: true }) < 0;
const VERSIONS = { patroni: versionOf('patroni'), etcd: versionOf('etcd'), haproxy: versionOf('haproxy', '-v') };
/** Patroni calls pg_basebackup and pg_rewind, which the embedded PostgreSQL lacks. */
const BIN = [
    ...(existsSync('/usr/lib/postgresql')
        ? readdirSync('/usr/lib/postgresql')
            .map(Number)
            .sort((a, b) => b - a)
        : [])
        .filter((major) => major >= 15)
        .map((major) => `/usr/lib/postgresql/${major}/bin`),
    ...PATH.split(':'),
].find((folder) => ['postgres', 'initdb', 'pg_basebackup', 'pg_rewind'].every((name) => existsSync(join(folder, name))));
const missing = [
    ...Object.entries(VERSIONS).flatMap(([name, version]) => (version === undefined ? name : [])),
    ...(BIN === undefined ? ["PostgreSQL's server 15 or newer"] : []),
];
/** Why no such cluster can run here. Undefined if one can. */
export const withoutPatroni = missing.length === 0
    ? undefined
    : `The failover tests on Patroni are skipped, because this machine lacks ${missing.join(', ')}: install Debian's packages patroni, etcd-server, haproxy and postgresql.`;
/**
 * Before 3.0.3, Patroni can lose acknowledged writes over etcd's v3 interface: a leader whose Patroni was frozen takes
 * the leader's key again without a comparison, although another node has it. Debian 12 has 3.0.2, so use v2 there.
 */
const ETCD = isBefore(VERSIONS.patroni ?? '', '3.0.3') ? 'etcd' : 'etcd3';
const account = isRoot ? nobody : undefined;
const living = new Set();
atFileEnd(() => Promise.all([...living].map((close) => close())));
/** The parts of a node's configuration that differ from node to node are written by `configOf`. */
const BOOTSTRAP = {
    dcs: {
        ...TIMES,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        maximum_lag_on_failover: 1_048_576,
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
    initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { auth: 'trust' }, 'no-sync'],
};
const configOf = (name, folder, ports, etcd) => ({
    scope: 'gateway',
    name,
    restapi: { listen: `127.0.0.1:${ports.rest}`, connect_address: `127.0.0.1:${ports.rest}` },
    [ETCD]: { host: `127.0.0.1:${etcd}` },
    bootstrap: BOOTSTRAP,
    postgresql: {
        listen: `127.0.0.1:${ports.postgres}`,
        connect_address: `127.0.0.1:${ports.postgres}`,
        bin_dir: BIN,
        data_dir: join(folder, 'data'),
        pgpass: join(folder, 'pgpass'),
        authentication: { superuser: { username: 'postgres' }, replication: { username: 'postgres' } },
        parameters: { unix_socket_directories: '' },
        pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
        remove_data_directory_on_rewind_failure: true,
        remove_data_directory_on_diverged_timelines: true,
    },
});
const proxyOf = (port, nodes) => `
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
async function waited(what, met, logs) {
    for (const end = performance.now() + PATIENCE;; await pause(50)) {
        const found = await met().catch(() => undefined);
        if (found !== undefined)
            return found;
        if (performance.now() > end)
            throw new Error(`Patroni has no ${what}:\n${logs()}`);
    }
}
async function asked(port, path, body) {
    const sent = body && { method: 'POST', body: JSON.stringify(body) };
    return fetch(`http://127.0.0.1:${port}${path}`, { ...sent, signal: AbortSignal.timeout(body ? 30_000 : 2_000) });
}
export async function openPatroni() {
    const folder = scratch('patroni');
    chmodSync(folder, 0o755);
    const children = [];
    const run = (name, program, args) => {
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
    const own = (name) => {
        const path = join(folder, name);
        mkdirSync(path, { mode: 0o700 });
        if (account)
            chownSync(path, account.uid, account.gid);
        return path;
    };
    const logs = () => readdirSync(folder)
        .filter((name) => name.endsWith('.log'))
        .map((name) => `${name}:\n${readFileSync(join(folder, name), 'utf8').split('\n').slice(-15).join('\n')}`)
        .join('\n');
    const [etcd, peers, proxy] = [await freePort(), await freePort(), await freePort()];
    const at = (port) => `http://127.0.0.1:${port}`;
    run('etcd', 'etcd', [
        ...['--data-dir', own('etcd'), '--listen-client-urls', at(etcd), '--advertise-client-urls', at(etcd)],
        ...['--listen-peer-urls', at(peers), '--initial-advertise-peer-urls', at(peers)],
        ...['--initial-cluster', `default=${at(peers)}`, ...(ETCD === 'etcd' ? ['--enable-v2'] : [])],
    ]);
    await waited('etcd', async () => ((await asked(etcd, '/health')).ok ? true : undefined), logs);
    const names = ['one', 'two', 'three'];
    const ports = [];
    for (const name of names)
        ports.push({ name, postgres: await freePort(), rest: await freePort() });
    const restOf = (name) => ports.find((of) => of.name === name)?.rest ?? 0;
    const nodes = ports.map((of) => openNode({ ...of, folder: own(of.name), etcd, run }));
    writeFileSync(join(folder, 'haproxy.cfg'), proxyOf(proxy, ports));
    const leader = (...others) => waited('leader', async () => {
        // A frozen node would answer late.
        const asked = nodes.filter((node) => !others.includes(node));
        const told = await Promise.all(asked.map((node) => node.isLeader()));
        return asked.find((_, i) => told[i]);
    }, logs);
    const whole = () => waited('leader with two standbys', async () => {
        const found = await leader();
        const [row] = await found.with('postgres', (sql) => sql `SELECT count(*)::integer AS n FROM pg_stat_replication WHERE state = 'streaming'`);
        // Only a standby that Patroni itself names as synchronous may become the leader.
        const told = await (await asked(restOf(found.name), '/cluster')).text();
        return row?.n === 2 && told.includes('sync_standby') ? found : undefined;
    }, logs);
    const close = async () => {
        living.delete(close);
        process.off('exit', killAll);
        await Promise.all(nodes.map((node) => node.kill()));
        killAll();
        rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    };
    const killAll = () => {
        for (const node of nodes)
            node.end();
        for (const child of children)
            child.kill('SIGKILL');
    };
    living.add(close);
    process.once('exit', killAll);
    nodes[0]?.start();
    await leader();
    for (const node of nodes.slice(1))
        node.start();
    run('haproxy', 'haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')]);
    await whole();
    return {
        nodes,
        leader,
        whole,
        hosts: (database) => `postgres://postgres@${ports.map((of) => `127.0.0.1:${of.postgres}`).join(',')}/${database}?target_session_attrs=read-write`,
        proxied: (database) => `postgres://postgres@127.0.0.1:${proxy}/${database}`,
        switchover: async ({ name }) => {
            const answer = await asked(restOf(name), '/switchover', { leader: name });
            if (!answer.ok)
                throw new Error(`Patroni refuses a switchover: ${answer.status} ${await answer.text()}`);
        },
    };
}
/** `end` sends SIGKILL to all processes of the node. */
function openNode({ name, folder, etcd, run, ...ports }) {
    const config = join(folder, 'patroni.yml');
    writeFileSync(config, JSON.stringify(configOf(name, folder, ports, etcd)));
    chmodSync(config, 0o644);
    let patroni;
    /** Patroni is no parent of PostgreSQL, and PostgreSQL's processes each have a group of their own. */
    const database = () => {
        try {
            const postmaster = Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0]);
            return /postgres/.test(readFileSync(`/proc/${postmaster}/cmdline`, 'utf8'))
                ? [postmaster, ...childrenOf(postmaster)]
                : [];
        }
        catch {
            return []; // PostgreSQL does not run
        }
    };
    const signal = (pids, which) => {
        for (const pid of pids) {
            try {
                if (pid !== undefined)
                    process.kill(pid, which);
            }
            catch (error) {
                // A process of the list can have ended meanwhile.
                if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH'))
                    throw error;
            }
        }
    };
    const end = () => {
        const pids = [...(patroni?.pid === undefined ? [] : [patroni.pid]), ...database()];
        signal(pids, 'SIGKILL');
        return pids;
    };
    return {
        name,
        end,
        with: async (of, work) => {
            const sql = postgres(`postgres://postgres@127.0.0.1:${ports.postgres}/${of}`, {
                max: 1,
                connect_timeout: 2,
                onnotice: () => undefined,
            });
            try {
                return await work(sql);
            }
            finally {
                await sql.end({ timeout: 1 });
            }
        },
        isLeader: () => asked(ports.rest, '/primary').then(({ status }) => status === 200, () => false),
        async kill() {
            const pids = end();
            while (pids.some(running))
                await pause(10);
        },
        start: () => {
            patroni = run(name, 'patroni', [config]);
        },
        freeze: (what) => signal([patroni?.pid, ...(what === 'all' ? database() : [])], 'SIGSTOP'),
        thaw: () => signal([...database(), patroni?.pid], 'SIGCONT'),
    };
}
//# sourceMappingURL=patroni.js.map