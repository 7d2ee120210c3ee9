import { spawnSync } from 'node:child_process';
import { vi } from 'vitest';
import { type Cluster, closeClusters, openCluster } from '../cluster.ts';
import { LONG } from '../form.ts';

/** Major version of a program on PATH; 0 without it. */
function majorOf(program: string): number {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return Number(/ (\d+)/.exec(stdout ?? '')?.[1] ?? 0);
}

const SERVER = majorOf('postgres');

/** In the long form: whether this machine has a PostgreSQL server on PATH, and client programs that know its version. */
export const hasClients =
  LONG && SERVER >= 15 && ['createdb', 'pg_dump', 'pg_restore'].every((program) => majorOf(program) >= SERVER);

/** A server of the operator's own, with the role `gateway`. */
export interface OwnServer {
  readonly port: number;
  /** As that role. */
  url(database: string): string;
  /** What `createdb` and its kin read. */
  readonly env: string;
  /** The one row of a question. */
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
