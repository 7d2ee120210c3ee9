import { spawnSync } from 'node:child_process';
import { vi } from 'vitest';
import { type Cluster, closeClusters, openCluster } from '../cluster.ts';
import { LONG } from '../form.ts';

/** The major version of a program on PATH, or 0 without the program. */
function majorOf(program: string): number {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return Number(/ (\d+)/.exec(stdout ?? '')?.[1] ?? 0);
}

const SERVER = majorOf('postgres');

/** True in the long form, when PATH has a PostgreSQL server and client programs that know its version. */
export const hasClients =
  LONG && SERVER >= 15 && ['createdb', 'pg_dump', 'pg_restore'].every((program) => majorOf(program) >= SERVER);

/** The operator's own PostgreSQL server, with the role `gateway`. */
export interface OwnServer {
  readonly port: number;
  /** The address of a database for the role `gateway`. */
  url(database: string): string;
  /** The environment variables that `createdb` and similar tools read, as shell text. */
  readonly env: string;
  /** Runs a query and returns its single row. */
  ask(database: string, question: string): Promise<unknown>;
  close(): Promise<void>;
}

export async function openOwnServer(): Promise<OwnServer> {
  vi.stubEnv('TEST_POSTGRES', 'path');
  let cluster: Cluster;
  try {
    cluster = await openCluster();
  } finally {
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
