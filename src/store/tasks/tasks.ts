import type { Authority } from '../../core/authority.ts';
import { empty, type Fragment, join, raw, runFor, sql } from '../../core/sql.ts';
import { type Access, type Guarded, guarded, type Proved, StaleAuthority } from '../calls/guard.ts';
import { changesOf } from '../driver/connections.ts';
import type { Database } from '../driver/postgres.ts';
import { repeated } from '../driver/repeated.ts';

export type TaskState = 'submitted' | 'working' | 'completed' | 'failed' | 'canceled';

/** A stored A2A task. `grants` identifies the permissions that a reader must have to get the artifact. */
export interface TaskRow {
  readonly id: string;
  readonly contextId: string;
  readonly skill: string;
  readonly websiteId: string | null;
  readonly state: TaskState;
  readonly stateAt: Date;
  readonly expiresAt: Date;
  readonly failure: string | null;
  readonly grants: Uint8Array;
  /** The artifact of the task. `null` when the task has no artifact, or when the read did not ask for artifacts. */
  readonly artifact: unknown;
}

/** A new task. `owner` is the process that has the arguments of the task. */
export interface Accepting {
  readonly id: string;
  /** HMAC of the credential and of the message's id. */
  readonly message: Uint8Array;
  /** HMAC of the skill and its arguments. */
  readonly fingerprint: Uint8Array;
  readonly grants: Uint8Array;
  readonly contextId: string;
  readonly skill: string;
  readonly websiteId: string | null;
  readonly owner: string;
  /** The failure code of the task if its process is lost. `outcome_unknown`: the task may have written. */
  readonly lostAs: 'interrupted' | 'outcome_unknown';
  readonly start: boolean;
}

export type Accepted =
  | { readonly verdict: 'new' | 'known' | 'conflict'; readonly task: TaskRow }
  | { readonly verdict: 'full'; readonly retryAfter: number };

/** The length (ms) of a task's lease. A process renews the leases of its tasks long before they end. */
export const TASK_LEASE = 10_000;
/** For each installation, over all replicas: the most unexpired tasks, and the most running tasks. */
export const UNEXPIRED = 100;
export const RUNNING = 5;
const LIFETIME_MINUTES = 15;
/** A page of tasks ends with the artifact that reaches this number of bytes (as JSON text). */
const PAGE_BYTES = 1_048_576;

export const lease = sql`${TASK_LEASE}::integer * interval '1 millisecond'`;
export const lifetime = sql`${LIFETIME_MINUTES}::integer * interval '1 minute'`;

export const columns = (row: string, artifact: Fragment = raw('NULL::json')): Fragment => {
  const of = (column: string): Fragment => raw(`${row}.${column}`);
  return sql`${of('id')}, ${of('context_id')} AS "contextId", ${of('skill')}, ${of('website_id')} AS "websiteId",
    ${of('state')}, ${of('state_at')} AS "stateAt", ${of('expires_at')} AS "expiresAt", ${of('failure')}, ${of('grants')},
    ${artifact} AS artifact`;
};

/**
 * Accepts one task for each message. Every verdict has a proof of the authority. After a lost reply, the statement is
 * repeated, and its own task still gets the verdict `new`.
 */
export async function acceptTask(access: Access, task: Accepting): Promise<Proved<Accepted>> {
  const { authority } = access;
  const answered = sql`a.verdict, a.retry_after AS "retryAfter", ${columns('(a.task)', raw('(a.task).artifact'))}`;
  const joins = sql`CROSS JOIN LATERAL gateway.accept_task(
        ${authority.digest}, ${authority.revision}, ${task.id}, ${authority.installationId}, ${authority.credentialId},
        ${task.message}, ${task.fingerprint}, ${task.grants}, ${task.contextId}, ${task.skill}, ${task.websiteId},
        ${task.owner}, ${task.lostAs}, ${lifetime}, ${lease}, ${UNEXPIRED}, ${RUNNING},
        ${task.start}) a`;
  type Row = TaskRow & { verdict: Accepted['verdict'] | 'stale'; retryAfter: number | null };
  const { proof, rows } = await repeated(() => guarded<Row>(access, answered, joins, 'query'));
  const [row] = rows;
  if (!row) throw new Error('accept_task gave no verdict');
  if (row.verdict === 'stale') throw new StaleAuthority();
  if (row.verdict === 'full') return { proof, answer: { verdict: 'full', retryAfter: row.retryAfter ?? 1 } };
  return { proof, answer: { verdict: row.verdict, task: row } };
}

/** Starts at most `seats` waiting tasks of the process `owner`, within the installation's limit of running tasks. */
export const startTasks = (db: Database, installation: string, owner: string, seats: number): Promise<TaskRow[]> =>
  // The runner runs this, not an app. In an app's turn, an app whose reads hang would delay the tasks of all.
  db.query<TaskRow>(sql`
    SELECT ${columns('s')} FROM gateway.start_tasks(${installation}, ${owner}, ${lease}, ${RUNNING}, ${seats}) s`);

/** How a task ended: its artifact as JSON text, or a failure code. */
export type RunEnd = { readonly artifact: string } | { readonly failure: string };

/**
 * Stores the end of a task under the current authority. `undefined`: the task no longer exists. After a lost reply, the
 * statement is repeated and finds its own effect.
 */
export async function endTask(
  db: Database,
  authority: Authority,
  id: string,
  end: RunEnd,
): Promise<TaskRow | undefined> {
  const artifact = 'artifact' in end ? end.artifact : null;
  const failure = 'failure' in end ? end.failure : null;
  const statement = sql`
    SELECT ${columns('e')} FROM gateway.end_task(
      ${id}, ${authority.digest}, ${authority.revision}, ${artifact}::text::json, ${failure}) e WHERE e.id IS NOT NULL`;
  const [row] = await repeated(() => db.query<TaskRow>(runFor(changesOf(authority.appId), statement)));
  return row;
}

/** Cancels a task in one conditional update. `undefined`: the credential has no such task, or it has expired. */
export async function cancelTask(
  access: Access,
  id: string,
): Promise<Proved<{ canceled: boolean; task: TaskRow } | undefined>> {
  const { digest, revision, credentialId } = access.authority;
  const answered = sql`c.proved, c.canceled, ${columns('(c.task)', raw('(c.task).artifact'))}`;
  const joins = sql`CROSS JOIN LATERAL gateway.cancel_task(${id}, ${credentialId}, ${digest}, ${revision}) c`;
  let attempts = 0;
  const { proof, rows } = await repeated((attempt) => {
    attempts = attempt;
    return guarded<TaskRow & { proved: boolean; canceled: boolean }>(access, answered, joins, 'query');
  });
  const [row] = rows;
  // The SQL function proves the authority again after it has waited for the task.
  if (row?.proved !== true) throw new StaleAuthority();
  if (row.id === null) return { proof, answer: undefined };
  // A first attempt whose reply was lost may have canceled the task. So a canceled task counts as canceled by this
  // call.
  return { proof, answer: { canceled: row.canceled || (attempts > 1 && row.state === 'canceled'), task: row } };
}

const own = (authority: Authority): Fragment =>
  sql`t.installation_id = ${authority.installationId} AND t.credential_id = ${authority.credentialId} AND t.expires_at > now()`;

/** Runs a select that also proves the authority. If the select finds no rows, returns one row of nulls. */
const selected = <R extends object>(access: Access, select: Fragment): Promise<Guarded<R>> =>
  guarded<R>(access, sql`d.*`, sql`LEFT JOIN LATERAL (${select}) d ON true`);

export async function readTask(access: Access, id: string): Promise<Proved<TaskRow | undefined>> {
  const { proof, rows } = await selected<TaskRow>(
    access,
    sql`SELECT ${columns('t', raw('t.artifact'))} FROM gateway.task t
         WHERE guard.ok AND t.id = ${id} AND ${own(access.authority)}`,
  );
  const [row] = rows;
  return { proof, answer: row?.id === null ? undefined : row };
}

export interface TaskQuery {
  readonly contextId?: string | undefined;
  readonly states?: readonly TaskState[] | undefined;
  /** Lists only tasks that entered their current state at this time or later. */
  readonly statusAfter?: Date | undefined;
  readonly pageSize: number;
  readonly pageToken?: string | undefined;
  readonly artifacts: boolean;
}

/** The place after the last task of a page: the task's id, and the time of its state in Unix milliseconds. */
export interface TaskPageStart {
  readonly at: number;
  readonly id: string;
}

/**
 * A page of the credential's unexpired tasks, latest change first (A2A 1.0, section 3.1.4). It ends early at 1 MiB of
 * artifacts. `more`: there are more tasks.
 */
export async function listTasks(
  access: Access,
  { contextId, states, statusAfter, pageSize, artifacts }: Omit<TaskQuery, 'pageToken'>,
  after: TaskPageStart | undefined,
): Promise<Proved<{ tasks: TaskRow[]; more: boolean; total: number }>> {
  const wanted = join(
    [
      own(access.authority),
      ...(contextId === undefined ? [] : [sql`t.context_id = ${contextId}`]),
      ...(states === undefined ? [] : [sql`t.state = ANY(${states}::text[])`]),
      ...(statusAfter === undefined ? [] : [sql`t.state_at >= ${statusAfter}`]),
    ],
    ' AND ',
  );
  const place = after ? sql` AND (t.state_at, t.id) < (${new Date(after.at)}, ${after.id})` : empty;
  const size = raw(artifacts ? 'coalesce(octet_length(t.artifact::text), 0)' : '0');
  const { proof, rows } = await selected<TaskRow & { total: number; fits: boolean }>(
    access,
    sql`SELECT n.total, p.before < ${PAGE_BYTES} AS fits,
               ${columns('p', raw(artifacts ? `CASE WHEN p.before < ${PAGE_BYTES} THEN p.artifact END` : 'NULL::json'))}
          FROM (SELECT count(*)::integer AS total FROM gateway.task t WHERE guard.ok AND ${wanted}) n
          LEFT JOIN LATERAL (
            SELECT t.*, sum(${size}) OVER (ORDER BY t.state_at DESC, t.id DESC) - ${size} AS before
              FROM (SELECT t.* FROM gateway.task t WHERE guard.ok AND ${wanted}${place}
                     ORDER BY t.state_at DESC, t.id DESC LIMIT ${pageSize + 1}) t) p ON true
         ORDER BY p.state_at DESC, p.id DESC`,
  );
  // For an empty page, the outer join gives one row of nulls.
  const found = rows.filter(({ id }) => id !== null);
  const tasks = found.slice(0, pageSize).filter(({ fits }) => fits);
  return { proof, answer: { tasks, more: found.length > tasks.length, total: rows[0]?.total ?? 0 } };
}

/** Finds the unexpired task of a message. `undefined`: the message is new. */
export async function findTask(
  access: Access,
  { message, fingerprint }: Pick<Accepting, 'message' | 'fingerprint'>,
): Promise<Proved<Extract<Accepted, { task: TaskRow }> | undefined>> {
  const { proof, rows } = await selected<TaskRow & { same: boolean }>(
    access,
    sql`SELECT t.fingerprint = ${fingerprint} AS same, ${columns('t', raw('t.artifact'))} FROM gateway.task t
         WHERE guard.ok AND t.message = ${message} AND t.expires_at > now()`,
  );
  const [row] = rows;
  if (row === undefined || row.id === null) return { proof, answer: undefined };
  return { proof, answer: { verdict: row.same ? 'known' : 'conflict', task: row } };
}

/**
 * Renews leases, and returns the states of tasks that have not ended. Skips locked rows. If the statement waited for
 * one, it would keep its locks on the others, and no lease would be renewed meanwhile.
 */
export async function renewTasks(db: Database, ids: readonly string[]): Promise<Map<string, TaskState>> {
  const open = sql`k.id = ANY(${ids}::text[]) AND k.state IN ('submitted', 'working') AND k.expires_at > now()`;
  const rows = await db.query<{ id: string; state: TaskState }>(sql`
    WITH renewed AS (
      UPDATE gateway.task t SET lease_until = now() + ${lease}
       WHERE t.id IN (SELECT k.id FROM gateway.task k WHERE ${open} FOR UPDATE SKIP LOCKED)
      RETURNING t.id, t.state)
    SELECT r.id, r.state FROM renewed r
    UNION ALL
    SELECT k.id, k.state FROM gateway.task k WHERE ${open} AND NOT EXISTS (SELECT FROM renewed r WHERE r.id = k.id)`);
  return new Map(rows.map(({ id, state }) => [id, state]));
}

export async function endedTasks(db: Database, ids: readonly string[]): Promise<string[]> {
  const rows = await db.read<{ id: string }>(sql`
    SELECT i.id FROM unnest(${ids}::text[]) AS i (id) WHERE NOT EXISTS (
      SELECT FROM gateway.task t WHERE t.id = i.id AND t.state IN ('submitted', 'working') AND t.expires_at > now())`);
  return rows.map(({ id }) => id);
}

/** Deletes unfinished tasks of a process. Only for tasks that no caller knows about yet. */
export async function withdrawTasks(db: Database, owner: string, ids: readonly string[]): Promise<void> {
  await db.query(sql`
    DELETE FROM gateway.task k
     WHERE k.id = ANY(${ids}::text[]) AND k.owner = ${owner} AND k.state IN ('submitted', 'working')`);
}

/** Ends the unfinished tasks of a process that stops, as if the process were lost. */
export async function releaseTasks(db: Database, owner: string, ids: readonly string[]): Promise<void> {
  await db.query(sql`
    UPDATE gateway.task t SET state = 'failed', failure = t.lost_as,
           state_at = date_trunc('milliseconds', clock_timestamp()), lease_until = NULL
     WHERE t.id = ANY(${ids}::text[]) AND t.owner = ${owner} AND t.state IN ('submitted', 'working')`);
}

/** Ends tasks of lost processes and deletes expired tasks, at most `n` of each kind. Returns both numbers. */
export async function sweepTasks(db: Database, n: number): Promise<{ interrupted: number; deleted: number }> {
  const [row] = await db.query<{ interrupted: number; deleted: number }>(sql`
    SELECT gateway.interrupt_tasks(${n}) AS interrupted, gateway.delete_tasks(${n}) AS deleted`);
  return row ?? { interrupted: 0, deleted: 0 };
}
