import { empty, join, raw, runFor, sql } from '../../core/sql.js';
import { guarded, StaleAuthority } from '../calls/guard.js';
import { changesOf } from '../driver/connections.js';
import { repeated } from '../driver/repeated.js';
/** The length (ms) of a task's lease. A process renews the leases of its tasks long before they end. */
export const TASK_LEASE = 10_000;
/** For each installation, over all replicas: the most unexpired tasks, and the most running tasks. */
export const UNEXPIRED = 100;
export const RUNNING = 5;
const LIFETIME_MINUTES = 15;
/** A page of tasks ends with the artifact that reaches this number of bytes (as JSON text). */
const PAGE_BYTES = 1_048_576;
export const lease = sql `${TASK_LEASE}::integer * interval '1 millisecond'`;
export const lifetime = sql `${LIFETIME_MINUTES}::integer * interval '1 minute'`;
export const columns = (row, artifact = raw('NULL::json'), history = raw('NULL::json')) => {
    const of = (column) => raw(`${row}.${column}`);
    return sql `${of('id')}, ${of('context_id')} AS "contextId", ${of('skill')}, ${of('website_id')} AS "websiteId",
    ${of('state')}, ${of('state_at')} AS "stateAt", ${of('expires_at')} AS "expiresAt", ${of('failure')}, ${of('grants')},
    ${artifact} AS artifact, ${history} AS history`;
};
/**
 * Accepts one task for each message. Every verdict has a proof of the authority. After a lost reply, the statement is
 * repeated, and its own task still gets the verdict `new`.
 */
export function acceptTask(access, task) {
    const { authority } = access;
    const rest = sql `${authority.digest}, ${authority.revision}, ${task.id}, ${authority.installationId},
    ${authority.credentialId}, ${task.message}, ${task.fingerprint}, ${task.grants}, ${task.contextId}, ${task.skill},
    ${task.websiteId}, ${task.owner}, ${task.lostAs}, ${lifetime}, ${lease}, ${UNEXPIRED}, ${RUNNING}, ${task.start}`;
    return accepted(access, task.text
        ? sql `gateway.accept_text(${JSON.stringify(task.text)}::text::json, ${rest})`
        : sql `gateway.accept_task(${rest})`);
}
/** Takes a further message of a task. With a skill, the message sets the task to work. `contextId` can be absent. */
export function continueTask(access, task) {
    const { authority } = access;
    return accepted(access, sql `gateway.continue_task(${task.text ? JSON.stringify(task.text) : null}::text::json,
      ${authority.digest}, ${authority.revision}, ${task.id}, ${authority.installationId}, ${authority.credentialId},
      ${task.message}, ${task.fingerprint}, ${task.grants}, ${task.contextId ?? null}, ${task.skill}, ${task.websiteId},
      ${task.owner}, ${task.lostAs}, ${lease}, ${RUNNING}, ${task.start})`);
}
async function accepted(access, call) {
    const task = columns('(a.task)', raw('(a.task).artifact'), raw('(a.task).history'));
    const answered = sql `a.verdict, a.retry_after AS "retryAfter", ${task}`;
    const { proof, rows } = await repeated(() => guarded(access, answered, sql `CROSS JOIN LATERAL ${call} a`, 'query'));
    const [row] = rows;
    if (!row)
        throw new Error('the statement gave no verdict');
    const { verdict } = row;
    if (verdict === 'stale')
        throw new StaleAuthority();
    if (verdict === 'full')
        return { proof, answer: { verdict, retryAfter: row.retryAfter ?? 1 } };
    if (verdict === 'new' || verdict === 'known' || verdict === 'conflict')
        return { proof, answer: { verdict, task: row } };
    return { proof, answer: { verdict } };
}
/** Starts at most `seats` waiting tasks of the process `owner`, within the installation's limit of running tasks. */
export const startTasks = (db, installation, owner, seats) => 
// The runner runs this, not an app. In an app's turn, an app whose reads hang would delay the tasks of all.
db.query(sql `
    SELECT ${columns('s')} FROM gateway.start_tasks(${installation}, ${owner}, ${lease}, ${RUNNING}, ${seats}) s`);
/**
 * Stores the end of a task under the current authority. `undefined`: the task no longer exists. After a lost reply, the
 * statement is repeated and finds its own effect.
 */
export async function endTask(db, authority, id, end) {
    const artifact = 'artifact' in end ? end.artifact : null;
    const failure = 'failure' in end ? end.failure : null;
    const statement = sql `
    SELECT ${columns('e')} FROM gateway.end_task(
      ${id}, ${authority.digest}, ${authority.revision}, ${artifact}::text::json, ${failure}) e WHERE e.id IS NOT NULL`;
    const [row] = await repeated(() => db.query(runFor(changesOf(authority.appId), statement)));
    return row;
}
/** Cancels a task in one conditional update. `undefined`: the credential has no such task, or it has expired. */
export async function cancelTask(access, id) {
    const { digest, revision, credentialId } = access.authority;
    const answered = sql `c.proved, c.canceled, ${columns('(c.task)', raw('(c.task).artifact'), raw('(c.task).history'))}`;
    const joins = sql `CROSS JOIN LATERAL gateway.cancel_task(${id}, ${credentialId}, ${digest}, ${revision}) c`;
    let attempts = 0;
    const { proof, rows } = await repeated((attempt) => {
        attempts = attempt;
        return guarded(access, answered, joins, 'query');
    });
    const [row] = rows;
    // The SQL function proves the authority again after it has waited for the task.
    if (row?.proved !== true)
        throw new StaleAuthority();
    if (row.id === null)
        return { proof, answer: undefined };
    // A first attempt whose reply was lost may have canceled the task. So a canceled task counts as canceled by this
    // call.
    return { proof, answer: { canceled: row.canceled || (attempts > 1 && row.state === 'canceled'), task: row } };
}
const own = (authority) => sql `t.installation_id = ${authority.installationId} AND t.credential_id = ${authority.credentialId} AND t.expires_at > now()`;
/** Runs a select that also proves the authority. If the select finds no rows, returns one row of nulls. */
const selected = (access, select) => guarded(access, sql `d.*`, sql `LEFT JOIN LATERAL (${select}) d ON true`);
export async function readTask(access, id) {
    const { proof, rows } = await selected(access, sql `SELECT ${columns('t', raw('t.artifact'), raw('t.history'))} FROM gateway.task t
         WHERE guard.ok AND t.id = ${id} AND ${own(access.authority)}`);
    const [row] = rows;
    return { proof, answer: row?.id === null ? undefined : row };
}
/**
 * A page of the credential's unexpired tasks, latest change first (A2A 1.0, section 3.1.4). It ends early at 1 MiB of
 * artifacts. `more`: there are more tasks.
 */
export async function listTasks(access, { contextId, states, statusAfter, pageSize, artifacts }, after) {
    const wanted = join([
        own(access.authority),
        ...(contextId === undefined ? [] : [sql `t.context_id = ${contextId}`]),
        ...(states === undefined ? [] : [sql `t.state = ANY(${states}::text[])`]),
        ...(statusAfter === undefined ? [] : [sql `t.state_at >= ${statusAfter}`]),
    ], ' AND ');
    const place = after ? sql ` AND (t.state_at, t.id) < (${new Date(after.at)}, ${after.id})` : empty;
    const size = raw(artifacts ? 'coalesce(octet_length(t.artifact::text), 0)' : '0');
    const { proof, rows } = await selected(access, sql `SELECT n.total, p.before < ${PAGE_BYTES} AS fits,
               ${columns('p', raw(artifacts ? `CASE WHEN p.before < ${PAGE_BYTES} THEN p.artifact END` : 'NULL::json'))}
          FROM (SELECT count(*)::integer AS total FROM gateway.task t WHERE guard.ok AND ${wanted}) n
          LEFT JOIN LATERAL (
            SELECT t.*, sum(${size}) OVER (ORDER BY t.state_at DESC, t.id DESC) - ${size} AS before
              FROM (SELECT t.* FROM gateway.task t WHERE guard.ok AND ${wanted}${place}
                     ORDER BY t.state_at DESC, t.id DESC LIMIT ${pageSize + 1}) t) p ON true
         ORDER BY p.state_at DESC, p.id DESC`);
    // For an empty page, the outer join gives one row of nulls.
    const found = rows.filter(({ id }) => id !== null);
    const tasks = found.slice(0, pageSize).filter(({ fits }) => fits);
    return { proof, answer: { tasks, more: found.length > tasks.length, total: rows[0]?.total ?? 0 } };
}
/** Finds the unexpired task of a message. `undefined`: the message is new. */
export async function findTask(access, { message, fingerprint }, id) {
    const turn = Buffer.concat([message, fingerprint]);
    const repeats = sql `EXISTS (SELECT FROM unnest(t.turns) AS u (turn) WHERE substring(u.turn FROM 1 FOR 32) = ${message})`;
    const wanted = id === undefined
        ? sql `t.message = ${message}`
        : sql `t.id = ${id} AND ${own(access.authority)} AND (t.message = ${message} OR ${repeats})`;
    const { proof, rows } = await selected(access, sql `SELECT (t.message = ${message} AND t.fingerprint = ${fingerprint}) OR coalesce(${turn} = ANY (t.turns), false) AS same,
               ${columns('t', raw('t.artifact'), raw('t.history'))} FROM gateway.task t
         WHERE guard.ok AND ${wanted} AND t.expires_at > now()`);
    const [row] = rows;
    if (row === undefined || row.id === null)
        return { proof, answer: undefined };
    return { proof, answer: { verdict: row.same ? 'known' : 'conflict', task: row } };
}
//# sourceMappingURL=tasks.js.map