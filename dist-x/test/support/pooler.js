import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atFileEnd } from './ends.js';
import { freePort } from './port.js';
/** Debian's pgbouncer 1.18 does not support prepared statements in transaction mode. */
export const hasPgbouncer = spawnSync('pgbouncer', ['--version']).status === 0;
/** Functions that end the poolers of failed tests, after the test file. */
const living = new Set();
atFileEnd(() => Promise.all([...living].map((close) => close())));
/**
 * Starts pgbouncer in transaction mode in front of a server on TCP without a password. All clients share `size` server
 * connections. `more` adds lines to the configuration.
 */
export async function openPooler(server, size, more = '') {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-pooler-'));
    const port = await freePort();
    writeFileSync(join(folder, 'pgbouncer.ini'), `[databases]
* = host=${server.host} port=${server.port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${size}
max_client_conn = 500
${more}
`);
    chmodSync(folder, 0o755);
    // pgbouncer refuses to run as root.
    const account = process.geteuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
    const child = spawn('pgbouncer', [join(folder, 'pgbouncer.ini')], {
        ...account,
        stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    const ended = once(child, 'close');
    await new Promise((resolve, reject) => {
        child.stderr.on('data', (part) => {
            said += part.toString();
            if (/process up/.test(said))
                resolve();
        });
        ended.then(() => reject(new Error(`pgbouncer ended: ${said}`)), reject);
    });
    const close = async () => {
        living.delete(close);
        child.kill('SIGKILL');
        await ended;
        rmSync(folder, { recursive: true, force: true });
    };
    living.add(close);
    return { url: (database) => `postgres://postgres@127.0.0.1:${port}/${database}`, close };
}
//# sourceMappingURL=pooler.js.map