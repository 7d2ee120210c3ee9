import { readdirSync, readFileSync } from 'node:fs';
import type postgres from 'postgres';

/** The processor time of all threads of processes, in microseconds. */
export function timeOf(pids: readonly number[]): number {
  const threads = pids.flatMap((pid) => readdirSync(`/proc/${pid}/task`).map((one) => `/proc/${pid}/task/${one}`));
  return threads.reduce((sum, one) => sum + Number(readFileSync(`${one}/schedstat`, 'utf8').split(' ')[0]) / 1000, 0);
}

/** The processes of PostgreSQL that work for its clients, except the one of this connection. */
export async function backendsOf(sql: postgres.Sql): Promise<number[]> {
  const rows = await sql<{ pid: number }[]>`SELECT pid FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;
  return rows.map(({ pid }) => pid);
}
