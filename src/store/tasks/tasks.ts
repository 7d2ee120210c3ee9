import type { Authority } from '../../core/authority.ts';
import { empty, type Fragment, join, raw, runFor, sql } from '../../core/sql.ts';
import { type Access, type Guarded, guarded, type Proved, StaleAuthority } from '../calls/guard.ts';
import { changesOf } from '../driver/connections.ts';
import type { Database } from '../driver/postgres.ts';
import { repeated } from '../driver/repeated.ts';

export type TaskState = 'submitted' | 'working' | 'input_required' | 'completed' | 'failed' | 'canceled';

/** A text that a message of a task had. `id` is the id of the message. */
export interface TaskText {
  readonly id: string;
  readonly text: string;
}

/** A stored A2A task. `grants` identifies the permissions that a reader must have to get the artifact. */
export interface TaskRow {
  /** The id of the task: `task_` and 32 hexadecimal digits. */
  readonly id: string;
  /** The context id, from the client or made by the gateway. */
  readonly contextId: string;
  /** `null` while the task waits for a message that names a skill. */
  readonly skill: string | null;
  readonly websiteId: string | null;
  readonly state: TaskState;
  /** The time of the last change of state, in whole milliseconds of PostgreSQL's clock. */
  readonly stateAt: Date;
  /** The task expires 15 minutes after acceptance, or earlier if its credential ends earlier. */
  readonly expiresAt: Date;
  /** Why the task has failed: a failure code, `artifact_too_large` or `interrupted`. `null` if it has not failed. */
  readonly failure: string | null;
  readonly grants: Uint8Array;
  /** The artifact of the task. `null` when the task has no artifact, or when the read did not ask for artifacts. */
  readonly artifact: unknown;
  /** The texts of the task's messages. `null` when there are none, or when the statement does not read them. */
  readonly history: readonly TaskText[] | null;
}

/** A new task. `owner` is the process that has the arguments of the task. */
export interface Accepting extends Pick<TaskRow, 'id' | 'grants' | 'contextId' | 'websiteId'> {
  /** HMAC of the credential and of the message's id. */
  readonly message: Uint8Array;
  /** HMAC of the skill and its arguments. Without a skill, of the text. */
  readonly fingerprint: Uint8Array;
  /** `null`: the message names no skill, so the task waits for one. Such a message has a text. */
  readonly skill: string | null;
  readonly text: TaskText | undefined;
  readonly owner: string;
  /** The failure code of the task if its process is lost. `outcome_unknown`: the task may have written. */
  readonly lostAs: 'interrupted' | 'outcome_unknown';
  readonly start: boolean;
}

export type Accepted =
  | { readonly verdict: 'new' | 'known' | 'conflict'; readonly task: TaskRow }
  | { readonly verdict: 'full'; readonly retryAfter: number }
  | { readonly verdict: Unable };

/**
 * Why a task takes no message: the credential has no such task, the task has another context, or the task works or has
 * ended.
 */
export type Unable = 'absent' | 'elsewhere' | 'closed';

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

export const columns = (
  row: string,
  artifact: Fragment = raw('NULL::json'),
  history: Fragment = raw('NULL::json'),
): Fragment => {
  const of = (column: string): Fragment => raw(`${row}.${column}`);
  return sql`${of('id')}, ${of('context_id')} AS "contextId", ${of('skill')}, ${of('website_id')} AS "websiteId",
    ${of('state')}, ${of('state_at')} AS "stateAt", ${of('expires_at')} AS "expiresAt", ${of('failure')}, ${of('grants')},
    ${artifact} AS artifact, ${history} AS history`;
};

/**
 * Accepts one task for each message. Every verdict has a proof of the authority. After a lost reply, the statement is
 * repeated, and its own task still gets the verdict `new`.
 */
export function acceptTask(access: Access, task: Accepting): Promise<Proved<Accepted>> {
  const { authority } = access;
  const rest = sql`${authority.digest}, ${authority.revision}, ${task.id}, ${authority.installationId},
    ${authority.credentialId}, ${task.message}, ${task.fingerprint}, ${task.grants}, ${task.contextId}, ${task.skill},
    ${task.websiteId}, ${task.owner}, ${task.lostAs}, ${lifetime}, ${lease}, ${UNEXPIRED}, ${RUNNING}, ${task.start}`;
  return accepted(
    access,
    task.text
      ? sql`gateway.accept_text(${JSON.stringify(task.text)}::text::json, ${rest})`
      : sql`gateway.accept_task(${rest})`,
  );
}

/** Takes a further message of a task. With a skill, the message sets the task to work. `contextId` can be absent. */
export function continueTask(
  access: Access,
  task: Omit<Accepting, 'contextId'> & { readonly contextId: string | undefined },
): Promise<Proved<Accepted>> {
  const { authority } = access;
  return accepted(
    access,
    sql`gateway.continue_task(${task.text ? JSON.stringify(task.text) : null}::text::json,
      ${authority.digest}, ${authority.revision}, ${task.id}, ${authority.installationId}, ${authority.credentialId},
      ${task.message}, ${task.fingerprint}, ${task.grants}, ${task.contextId ?? null}, ${task.skill}, ${task.websiteId},
      ${task.owner}, ${task.lostAs}, ${lease}, ${RUNNING}, ${task.start})`,
  );
}

async function accepted(access: Access, call: Fragment): Promise<Proved<Accepted>> {
  const task = columns('(a.task)', raw('(a.task).artifact'), raw('(a.task).history'));
  const answered = sql`a.verdict, a.retry_after AS "retryAfter", ${task}`;
  type Row = TaskRow & { verdict: Accepted['verdict'] | 'stale'; retryAfter: number | null };
  const { proof, rows } = await repeated(() =>
    guarded<Row>(access, answered, sql`CROSS JOIN LATERAL ${call} a`, 'query'),
  );
  const [row] = rows;
  if (!row) throw new Error('the statement gave no verdict');
  const { verdict } = row;
  if (verdict === 'stale') throw new StaleAuthority();
  if (verdict === 'full') return { proof, answer: { verdict, retryAfter: row.retryAfter ?? 1 } };
  if (verdict === 'new' || verdict === 'known' || verdict === 'conflict')
    return { proof, answer: { verdict, task: row } };
  return { proof, answer: { verdict } };
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
  const answered = sql`c.proved, c.canceled, ${columns('(c.task)', raw('(c.task).artifact'), raw('(c.task).history'))}`;
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
    sql`SELECT ${columns('t', raw('t.artifact'), raw('t.history'))} FROM gateway.task t
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
  id: string | undefined,
): Promise<Proved<Extract<Accepted, { task: TaskRow }> | undefined>> {
  const turn = Buffer.concat([message, fingerprint]);
  const repeats = sql`EXISTS (SELECT FROM unnest(t.turns) AS u (turn) WHERE substring(u.turn FROM 1 FOR 32) = ${message})`;
  const wanted =
    id === undefined
      ? sql`t.message = ${message}`
      : sql`t.id = ${id} AND ${own(access.authority)} AND (t.message = ${message} OR ${repeats})`;
  const { proof, rows } = await selected<TaskRow & { same: boolean }>(
    access,
    sql`SELECT (t.message = ${message} AND t.fingerprint = ${fingerprint}) OR coalesce(${turn} = ANY (t.turns), false) AS same,
               ${columns('t', raw('t.artifact'), raw('t.history'))} FROM gateway.task t
         WHERE guard.ok AND ${wanted} AND t.expires_at > now()`,
  );
  const [row] = rows;
  if (row === undefined || row.id === null) return { proof, answer: undefined };
  return { proof, answer: { verdict: row.same ? 'known' : 'conflict', task: row } };
}
