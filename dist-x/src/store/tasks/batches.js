import { sql } from '../../core/sql.js';
import { hex, provedWrites } from '../calls/guard.js';
import { columns, lease, lifetime, RUNNING, UNEXPIRED, } from './tasks.js';
/** Accepts new tasks in one statement that waits for no lock. Answers in order. `undefined`: acceptTask must decide. */
export async function acceptTasks(db, batch) {
    const [first] = batch;
    if (!first)
        return [];
    const authorities = batch.map(({ authority }) => authority);
    const tasks = batch.map(({ task }) => task);
    const rows = await provedWrites(db, sql `SELECT ${columns('a')} FROM gateway.accept_tasks(
      ${tasks.map((one) => one.id)}::text[],
      ${authorities.map((one) => hex(one.digest))}::bytea[],
      ${authorities.map((one) => one.revision)}::integer[],
      ${authorities.map((one) => one.installationId)}::text[],
      ${authorities.map((one) => one.credentialId)}::text[],
      ${tasks.map((one) => hex(one.message))}::bytea[],
      ${tasks.map((one) => hex(one.fingerprint))}::bytea[],
      ${tasks.map((one) => hex(one.grants))}::bytea[],
      ${tasks.map((one) => one.contextId)}::text[],
      ${tasks.map((one) => one.skill)}::text[],
      ${tasks.map((one) => one.websiteId)}::text[],
      ${tasks.map((one) => one.lostAs)}::text[],
      ${tasks.map((one) => String(one.start))}::boolean[],
      ${first.task.owner}, ${lifetime}, ${lease}, ${UNEXPIRED}, ${RUNNING}) a`, new Map(batch.map(({ authority, task }) => [task.id, authority])));
    return batch.map(({ task: { id } }) => {
        const accepted = rows.get(id);
        return accepted && { proof: accepted.proof, answer: { verdict: 'new', task: accepted.row } };
    });
}
/**
 * Stores the ends of tasks under their current authorities, in one statement, which waits for no lock. Returns the
 * answers in order. `undefined`: endTask must decide about this task.
 */
export async function endTasks(db, batch) {
    const ends = batch.map(({ end }) => end);
    const artifacts = ends.map((end) => ('artifact' in end ? end.artifact : 'null'));
    const rows = await db.query(sql `
    SELECT ${columns('e')} FROM gateway.end_tasks(
      ${batch.map(({ id }) => id)}::text[],
      ${batch.map(({ authority }) => hex(authority.digest))}::bytea[],
      ${batch.map(({ authority }) => authority.revision)}::integer[],
      ${`[${artifacts.join()}]`}::text::json,
      ${ends.map((end) => ('failure' in end ? end.failure : null))}::text[]) e`);
    const ended = new Map(rows.map((row) => [row.id, row]));
    return batch.map(({ id }) => ended.get(id));
}
//# sourceMappingURL=batches.js.map