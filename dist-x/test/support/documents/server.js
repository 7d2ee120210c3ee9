import { spawnSync } from 'node:child_process';
import { vi } from 'vitest';
import { closeClusters, openCluster } from '../cluster.js';
import { LONG } from '../form.js';
/** The major version of a program on PATH. 0 if it is missing. */
function majorOf(program) {
    const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
    return Number(/ (\d+)/.exec(stdout ?? '')?.[1] ?? 0);
}
const SERVER = majorOf('postgres');
/** True in the long form, with a PostgreSQL server of version 15 or newer and client programs that are not older. */
export const hasClients = LONG && SERVER >= 15 && ['createdb', 'pg_dump', 'pg_restore'].every((program) => majorOf(program) >= SERVER);
export async function openOwnServer() {
    vi.stubEnv('TEST_POSTGRES', 'path');
    let cluster;
    try {
        cluster = await openCluster();
    }
    finally {
        vi.unstubAllEnvs();
    }
    const { port, sql } = cluster;
    await sql('postgres').unsafe('CREATE ROLE gateway LOGIN');
    return {
        port,
        url: (database) => `postgres://gateway@127.0.0.1:${port}/${database}`,
        env: `PGHOST=127.0.0.1 PGPORT=${port} PGUSER=postgres`,
        ask: async (database, question) => (await sql(database).unsafe(question))[0],
        close: closeClusters,
    };
}
//# sourceMappingURL=server.js.map