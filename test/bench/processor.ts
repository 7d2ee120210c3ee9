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

const stat = (pid: string): string[] => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];

/** Milliseconds of processor time, of user and system. Linux counts in hundredths of a second. */
export const spent = (pid: string): number => (Number(stat(pid)[11]) + Number(stat(pid)[12])) * 10;

/** The processor time of PostgreSQL in milliseconds, with backends that have ended: the kernel adds them to the postmaster's children. */
export function spentBelow(postmaster: string): number {
  const own = stat(postmaster);
  const living = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && parentOf(pid) === postmaster);
  return (Number(own[13]) + Number(own[14])) * 10 + living.reduce((sum, pid) => sum + spent(pid), 0);
}

function parentOf(pid: string): string | undefined {
  try {
    return stat(pid)[1];
  } catch {
    return undefined; // the process has ended
  }
}

/** The process id of the postmaster: the parent of the process that serves this connection. */
export async function postmasterOf(sql: postgres.Sql): Promise<string> {
  const [row] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  return parentOf(String(row?.pid)) ?? '';
}
