import { sql } from '../../core/sql.js';
import { isUnavailable } from '../driver/errors.js';
import { repeated } from '../driver/repeated.js';
import { audited } from './audited.js';
import { guardedBatch, hex, StaleAuthority } from './guard.js';
import { nativeId, visible } from './read.js';
/** How long (ms) a process holds a command that it performs in another system. Then another replica can take over. */
export const LEASE = 10_000;
/**
 * Enters commands of one kind on one website in the ledger of writes. The callers of these commands may see the same
 * data of the website.
 *
 * If the platform itself performs the commands, one statement does everything: authority, reservation, effect, journal
 * entry and outcome. After a lost reply, the same statement is sent again. The second statement finds the outcomes of
 * the first, or performs the commands that the first did not perform. An error in one command undoes all commands, and
 * the ledger then enters each command separately.
 *
 * Returns one answer for each command, in order. The answer for a failed command is an Error.
 */
export async function enter(db, kind, batch) {
    const [first] = batch;
    if (!first)
        return [];
    const { write, authored, receipts, remote } = kind;
    const { website } = first.by;
    const authorities = batch.map(({ by }) => by.authority);
    const { view } = first.about;
    const drafts = batch.map((one) => one.draft);
    const columns = (attempt) => sql `
           ${audited(drafts, attempt, sql `gateway.write_batch(${website.tenant}, ${website.site}, ${write.name}, ${write.writer}, ${authored},
             ${receipts}::text[], ${leaseOf(remote, website)}, b.commands)`)} AS entries`;
    const joins = sql `
     CROSS JOIN LATERAL (
       SELECT array_agg((k.id, k.attempt, k.credential, k.digest, k.revision, k.fingerprint,
                         CASE WHEN k.ok THEN coalesce(${visible(first.by, view, sql `k.about`)}, false) END,
                         k.command)::gateway.keyed_command ORDER BY k.n) AS commands
         FROM unnest(${batch.map((one) => one.operationId)}::text[], ${batch.map((one) => one.attempt)}::uuid[],
                     ${authorities.map((one) => one.credentialId)}::text[], guard.digests, guard.revisions,
                     ${batch.map((one) => hex(one.fingerprint))}::bytea[], guard.oks,
                     ${batch.map(({ by, about }) => nativeId(by, about.view, about.id))}::bigint[],
                     ${batch.map(({ command }) => JSON.stringify(command))}::text[]::jsonb[]) WITH ORDINALITY
                AS k (id, attempt, credential, digest, revision, fingerprint, ok, about, command, n)) b`;
    try {
        const { proofs, rows } = await repeated((attempt) => guardedBatch(db, authorities, columns(attempt), joins));
        const entries = rows[0]?.entries ?? [];
        const again = batch.filter((_, i) => entries[i]?.state === 'again');
        const later = (await enter(db, kind, again)).values();
        return batch.map((_, i) => {
            const [entry, proof] = [entries[i], proofs[i]];
            if (entry?.state === 'again')
                return later.next().value ?? new StaleAuthority();
            if (entry === undefined || entry.state === 'stale' || !proof)
                return new StaleAuthority();
            return { proof, answer: entry }; // the states `stale` and `again` were handled above
        });
    }
    catch (error) {
        if (batch.length > 1 && !isUnavailable(error)) {
            const alone = [];
            for (const one of batch) {
                const last = alone.at(-1);
                // If the store is unavailable, the remaining commands fail at once and do not wait for the same error.
                const unavailable = last instanceof Error && isUnavailable(last);
                alone.push(...(unavailable ? [last] : await enter(db, kind, [one])));
            }
            return alone;
        }
        return batch.map(() => (error instanceof Error ? error : new Error(String(error))));
    }
}
/** SQL of the time for which a command is reserved for another system. Null: the store performs the command. */
export function leaseOf(remote, { tenant, site }) {
    const reserves = sql `${remote ? LEASE : null}::integer * interval '1 millisecond'`;
    if (remote !== 'sources')
        return reserves;
    return sql `CASE WHEN EXISTS (SELECT FROM gateway.source w WHERE w.tenant = ${tenant} AND w.site = ${site}
                                  AND w.api_token IS NOT NULL) THEN ${reserves} END`;
}
/**
 * Stores the outcome of a command. `null` means that the outcome is unknown. Each take-over of a command has a new
 * `epoch`. Returns false if another caller has taken over the command in the meantime. `attempt` is set when this call
 * itself has reserved the command. After a lost reply, the statement is repeated.
 */
export async function settle(db, held, outcome) {
    const { operationId, epoch, attempt = null, receipts } = held;
    const statement = sql `
    SELECT gateway.settle_audited(${operationId}, ${epoch}, ${attempt}::uuid,
                                    ${outcome && JSON.stringify(outcome)}::text::json, ${receipts}::text[]) AS settled`;
    const [row] = await repeated(() => db.query(statement));
    return row?.settled === true;
}
export const takeLapsed = (db, n) => db.query(sql `
    SELECT operation_id AS "operationId", epoch, 'web_' || tenant || '_' || site AS website, operation
      FROM gateway.take_lapsed(${LEASE}::integer * interval '1 millisecond', ${n})`);
/** Erases at most `n` outcomes that are older than 24 hours. Returns their number. */
export async function eraseOutcomes(db, n) {
    const [row] = await db.query(sql `SELECT gateway.erase_outcomes(${n}) AS erased`);
    return row?.erased ?? 0;
}
/**
 * Lapses at most `n` pending writes whose time or authority has ended. Returns their number. `restored`: a backup was
 * restored, so all of them lapse.
 */
export async function lapseApprovals(db, n, restored = false) {
    const [row] = await db.query(sql `SELECT gateway.lapse_approvals(${n}::integer, ${restored}::boolean) AS lapsed`);
    return row?.lapsed ?? 0;
}
/** Returns a function that reads the key for operation ids from the store, only once. All replicas use the same key. */
export function openLedgerKey(db) {
    let known;
    return () => {
        known ??= ledgerKey(db).catch((error) => {
            known = undefined;
            throw error;
        });
        return known;
    };
}
async function ledgerKey(db) {
    const [row] = await db.read(sql `SELECT key FROM gateway.ledger_key`);
    if (!row)
        throw new Error('the ledger has no key');
    return row.key;
}
//# sourceMappingURL=ledger.js.map