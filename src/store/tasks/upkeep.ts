import { sql } from '../../core/sql.ts';
import { asMachine } from '../calls/moved.ts';
import type { Database } from '../driver/postgres.ts';
import { lease, type TaskState } from './tasks.ts';

/**
 * Renews leases, and returns the states of tasks that have not ended. Skips locked rows. If the statement waited for
 * one, it would keep its locks on the others, and no lease would be renewed meanwhile.
 */
export async function renewTasks(db: Database, ids: readonly string[]): Promise<Map<string, TaskState>> {
  const open = sql`k.id = ANY(${ids}::text[]) AND k.state IN ('submitted', 'working') AND k.expires_at > now()`;
  const rows = await db.query<{ id: string; state: TaskState }>(sql`
    WITH renewed AS (
      UPDATE gateway.task t SET lease_until = now() + ${lease}
       WHERE t.id IN (SELECT k.id FROM gateway.task k WHERE ${open} AND ${asMachine} FOR UPDATE SKIP LOCKED)
      RETURNING t.id, t.state)
    SELECT r.id, r.state FROM renewed r
    UNION ALL
    SELECT k.id, k.state FROM gateway.task k WHERE ${open} AND NOT EXISTS (SELECT FROM renewed r WHERE r.id = k.id)`);
  return new Map(rows.map(({ id, state }) => [id, state]));
}

/** Of tasks and their last known states, returns the indexes of those whose state is another one now. */
export async function changedTasks(
  db: Database,
  known: readonly { readonly id: string; readonly seen: TaskState | 'open' }[],
): Promise<number[]> {
  const open = sql`i.seen = 'open' AND t.state IN ('submitted', 'working')`;
  const rows = await db.read<{ n: number }>(sql`
    SELECT i.n::integer - 1 AS n
      FROM unnest(${known.map(({ id }) => id)}::text[], ${known.map(({ seen }) => seen)}::text[])
           WITH ORDINALITY AS i (id, seen, n)
     WHERE NOT EXISTS (SELECT FROM gateway.task t
                        WHERE t.id = i.id AND t.expires_at > now() AND (t.state = i.seen OR ${open}))`);
  return rows.map(({ n }) => n);
}

/** Deletes unfinished tasks of a process. Only for tasks that no caller knows about yet. */
export async function withdrawTasks(db: Database, owner: string, ids: readonly string[]): Promise<void> {
  await db.query(sql`
    DELETE FROM gateway.task k
     WHERE k.id = ANY(${ids}::text[]) AND k.owner = ${owner} AND k.state IN ('submitted', 'working') AND ${asMachine}`);
}

/** Ends the unfinished tasks of a process that stops, as if the process were lost. */
export async function releaseTasks(db: Database, owner: string, ids: readonly string[]): Promise<void> {
  await db.query(sql`
    UPDATE gateway.task t SET state = 'failed', failure = t.lost_as,
           state_at = date_trunc('milliseconds', clock_timestamp()), lease_until = NULL
     WHERE t.id = ANY(${ids}::text[]) AND t.owner = ${owner} AND t.state IN ('submitted', 'working') AND ${asMachine}`);
}

/** Ends tasks of lost processes and deletes expired tasks, at most `n` of each kind. Returns both numbers. */
export async function sweepTasks(db: Database, n: number): Promise<{ interrupted: number; deleted: number }> {
  const [row] = await db.query<{ interrupted: number; deleted: number }>(sql`
    SELECT gateway.interrupt_tasks(${n}) AS interrupted, gateway.delete_tasks(${n}) AS deleted`);
  return row ?? { interrupted: 0, deleted: 0 };
}
