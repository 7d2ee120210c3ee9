import { setTimeout as sleep } from 'node:timers/promises';
import { raw, sql } from '../../core/sql.js';
import { sqlState } from '../../store/driver/errors.js';
import { slotPlace } from './place.js';
/** Another import is running, or has taken over from this import. */
export class ImportBusy extends Error {
    name = 'ImportBusy';
}
/** Another gateway has taken the source over, or the source was paused or removed. */
export class SourceLost extends Error {
    name = 'SourceLost';
}
/**
 * How long (ms) an import waits for the lease of another. A lease lasts 10 s, so that of a killed import expires in
 * time.
 */
export const PATIENCE = 12_000;
export const POLL = 150;
const BEAT = 2_000;
export async function takeRun(db, subject, signal) {
    const { slot, epoch } = await take(db, subject, signal);
    const live = subject.source !== undefined;
    // Renew the lease between statements. Ignore an error: the next statement checks the lease and reports it.
    const beat = setInterval(() => {
        db.query(sql `SELECT gateway.import_beat(${slot}, ${epoch})`).catch(() => undefined);
    }, BEAT).unref();
    const giveBack = async (kept) => {
        clearInterval(beat);
        // Ignore this error, so that it does not hide an earlier one. The lease expires by itself.
        await db
            .query(sql `UPDATE gateway.import_run SET lease_until = '-infinity', backend = NULL, kept_until = ${kept}
             WHERE slot = ${slot} AND epoch = ${epoch}`)
            .catch(() => undefined);
    };
    return {
        slot,
        epoch,
        place: slotPlace(slot, sql `${epoch}::bigint`, live),
        state: () => readState(db, slot),
        begin: async (sources, organization) => {
            const described = JSON.stringify(sources);
            const named = organization ?? null;
            await db
                .query(sql `SELECT gateway.import_begin(${slot}, ${epoch}, ${described}::text::jsonb, ${named}::text, ${!live})`)
                .catch(explainLostLease);
            const [row] = await db.query(sql `SELECT gateway.import_checked(${slot}, ${epoch}, ${subject.checked === true}) AS checked`);
            if (row?.checked !== true)
                throw new ImportBusy('A person is being erased. Start the import again.');
        },
        finish: async () => {
            await db.query(sql `SELECT gateway.import_finish(${slot}, ${epoch})`).catch(explainLostLease);
        },
        release: () => giveBack(sql `'-infinity'`),
        wanted: async () => {
            const [row] = await db.query(sql `SELECT gateway.import_wanted(${slot}) AS wanted`);
            return row?.wanted === true;
        },
        park: () => giveBack(sql `clock_timestamp() + interval '2 minutes'`),
        spend: async ({ milliseconds, answers }, { window, fewest, total }) => {
            const [row] = await db.query(sql `
        SELECT gateway.import_spend(${slot}, ${epoch}, make_interval(secs => ${milliseconds / 1000}), ${answers},
          make_interval(secs => ${window}), ${fewest}, make_interval(secs => ${total})) AS why`);
            return row?.why ?? undefined;
        },
    };
}
async function take(db, { name, source, loads = false, patient = false }, signal) {
    const limit = performance.now() + PATIENCE;
    for (;;) {
        const [row] = await db.query(sql `SELECT slot, epoch::float8 AS epoch FROM gateway.import_take(${name}, ${source?.id ?? null}::text, ${source?.epoch ?? null}::bigint, ${loads})`);
        if (row !== undefined)
            return row;
        if (!patient && performance.now() > limit)
            throw new ImportBusy('The same import is running, or three other imports are. Wait until one has finished.');
        await sleep(POLL, undefined, signal === undefined ? {} : { signal });
    }
}
async function readState(db, slot) {
    const [row] = await db.query(sql `
    SELECT unfinished, sources, organization, staged, file, byte_offset::float8 AS "offset", line::float8 AS line,
           seq::float8 AS seq, position,
           (SELECT coalesce(sum(read), 0) = 0 FROM gateway.import_tally WHERE slot = ${slot})
             OR EXISTS (SELECT 1 FROM ${raw(`gateway.import_stage_${slot}`)})
             OR EXISTS (SELECT 1 FROM ${raw(`gateway.import_reject_${slot}`)}) AS intact
      FROM gateway.import_run WHERE slot = ${slot}`);
    if (row === undefined)
        throw new Error(`gateway.import_run has no slot ${slot}: the store is damaged`);
    return row;
}
/** Turns the error of a lost lease into ImportBusy. Throws every other error unchanged. */
export function explainLostLease(error) {
    const state = sqlState(error);
    if (state === 'GW001')
        throw new ImportBusy('Another import has taken over this import.', { cause: error });
    if (state === 'GW003')
        throw new ImportBusy('Another import is running in the same organization. Wait until it has finished.', {
            cause: error,
        });
    throw error;
}
//# sourceMappingURL=run.js.map