import { setTimeout as sleep } from 'node:timers/promises';
import { raw, sql } from '../../core/sql.js';
import { sqlState } from '../../store/driver/errors.js';
import { pagePlace, slotPlace } from './place.js';
import { analyzePlanStep, planStep, repliesStep } from './plan.js';
import { RECORD_TYPES } from './records.js';
import { explainLostLease, PATIENCE, POLL } from './run.js';
import { deleteStep, operatorStep, organizationStep, scopeStep, supersedeStep, websiteStep } from './special.js';
import { lanes, TABLES } from './tables.js';
import { refuseStep, writeStep } from './write.js';
const writing = (table) => [
    planStep(table),
    ...(table.name === 'message' ? [analyzePlanStep, repliesStep] : []),
    { lanes: Array.from({ length: lanes(table) }, (_, lane) => writeStep(table, lane)) },
];
const tables = (...names) => TABLES.filter((table) => names.includes(table.name)).flatMap(writing);
const removals = RECORD_TYPES.filter((type) => type !== 'delete')
    .toReversed()
    .map(deleteStep);
const written = [
    [
        tables('contact', 'visitor'),
        [
            ...tables('subsite', 'channel', 'team'),
            operatorStep,
            ...tables('ai_feature', 'disposition', 'saved_response', 'saved_link', 'offer'),
        ],
    ],
    [tables('conversation')],
    [tables('message')],
    [tables('file', 'ai_result', 'note')],
];
/**
 * The steps of a run after its records are staged. The groups run one after the other. The chains of one group run at the
 * same time. If the records of one type refer to another type, the other type is written first.
 *
 * In a file, deletions come first. So a reference to a deleted record is refused in the first run. If deletions came last,
 * only a second run of the same import would refuse the reference. A record is deleted before the records to which it
 * refers.
 *
 * In a source, deletions come last. A helpdesk merges two contacts by moving the conversations of one contact to the other.
 * The deletion of the first contact must find these conversations moved.
 */
const groups = ({ live }) => live
    ? [[[scopeStep('scope'), organizationStep, scopeStep('scope again'), websiteStep]], ...written, [removals]]
    : [
        [[supersedeStep, scopeStep('scope'), ...removals, organizationStep, scopeStep('scope again'), websiteStep]],
        ...written,
    ];
const NOTHING = sql `0::bigint`;
const ALL = { low: raw('0::bigint'), high: raw('9223372036854775807::bigint'), last: raw('true') };
/** The number of rows in the first batch. ANALYZE would ignore fewer rows and leave the statistics unchanged. */
const FIRST = 200;
function analyze(type) {
    const pairs = TABLES.find((table) => table.name === type)?.links;
    const also = pairs === undefined ? '' : `, platform.${pairs.table}`;
    return sql `ANALYZE platform.${raw(type)} (tenant, site, id, external_id)${raw(also)}`;
}
export async function apply(db, run, signal, onProgress) {
    const rows = await db.query(sql `SELECT step, ord::float8 AS ord, finished FROM gateway.import_step WHERE slot = ${run.slot}`);
    const done = new Map(rows.map(({ step, ...rest }) => [step, rest]));
    const work = { db, run, signal, types: await stagedTypes(db, run), done, onProgress };
    for (const group of groups(run.place))
        await together(group.map((chain) => runChain(work, chain)));
}
/** Returns all statements without parameters. `import_rehearse` runs them and rolls them back. */
export async function rehearsal(db, run) {
    const types = await stagedTypes(db, run);
    const place = slotPlace(run.slot, raw(`${run.epoch}::bigint`), run.place.live);
    const bounds = { place, ...ALL };
    return stepsFor(run.place, types)
        .flatMap((step) => {
        if (step.batch === undefined)
            return [step.statement(bounds)];
        const first = raw(`${FIRST}::bigint`);
        return [
            step.statement({ ...bounds, high: first }),
            analyze(step.batch.type),
            step.statement({ ...bounds, low: first }),
        ];
    })
        .map((statement) => statement.texts.join(''));
}
/** The steps that these types need, one after the other. */
const stepsFor = (place, types) => groups(place)
    .flat(2)
    .flatMap((link) => ('lanes' in link ? link.lanes : [link]))
    .filter((step) => step.types.some((type) => types.has(type)));
/** The statements that write one page of a source. `types`: of staged records. `removed`: of records to remove. */
export function pageSteps(tenant, types, removed) {
    const place = pagePlace(tenant);
    return stepsFor(place, types)
        .filter((step) => step !== analyzePlanStep && (step.batch?.lane ?? 0) < place.lanes)
        .filter((step) => step.removes === undefined || removed.has(step.removes))
        .map((step) => step.statement({ place, ...ALL }).texts.join(''));
}
async function stagedTypes(db, run) {
    const rows = await db.query(sql `SELECT type FROM gateway.import_tally WHERE slot = ${run.slot} AND step = '' AND read > 0 AND type <> ''`);
    return new Set(rows.map((row) => row.type));
}
async function runChain(work, chain) {
    for (const link of chain) {
        await together(('lanes' in link ? link.lanes : [link]).map((step) => runStep(work, step)));
    }
}
/** Waits for all promises, even if one fails, so that no statement still runs when the import releases its lease. */
async function together(work) {
    const failed = (await Promise.allSettled(work)).find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined)
        throw failed.reason;
}
async function runStep(work, step) {
    const { db, run, types, done, onProgress } = work;
    // A resumed run claims its organizations again, because another run may have taken them meanwhile.
    if ((done.get(step.name)?.finished === true && step.name !== 'scope') || !step.types.some((type) => types.has(type)))
        return;
    work.signal?.throwIfAborted();
    if (step.needed !== undefined) {
        const [answer] = await db.query(step.needed(run.place));
        if (answer?.needed !== true)
            return;
    }
    if (step.batch !== undefined)
        return runBatches(work, step, step.batch);
    await runStatement(db, step, { place: run.place, low: NOTHING, high: NOTHING, last: raw('true') });
    onProgress({ phase: step.name, done: 0, total: null });
}
/**
 * Runs a step in batches. The first batch is small, and ANALYZE follows it. ANALYZE runs again each time the number of
 * rows has doubled. Without statistics, PostgreSQL uses a wrong index for foreign keys and totals. At 4,000 rows,
 * writing a row then takes 0.14 ms instead of 0.01 ms, and the time grows (measured).
 */
async function runBatches(work, step, batch) {
    const { db, run, signal } = work;
    const [plan] = await db.query(sql `SELECT coalesce(max(ord), 0)::float8 AS total FROM ${raw(run.place.plan)}
         WHERE type = ${batch.type} AND lane = ${batch.lane}`);
    const total = plan?.total ?? 0;
    let low = work.done.get(step.name)?.ord ?? 0;
    let analyzed = 0;
    while (low < total) {
        signal?.throwIfAborted();
        const high = Math.min(low + (low === 0 ? FIRST : batch.rows), total);
        const written = await writeRows(work, step, batch, { low, high, total });
        if (written > 0 && high >= Math.max(FIRST, 2 * analyzed) && batch.lane === 0) {
            await db.query(analyze(batch.type));
            analyzed = high;
        }
        low = high;
        work.onProgress({ phase: `write ${batch.type}`, done: low, total });
    }
}
/**
 * Writes the planned rows after `low` up to `high`. If PostgreSQL refuses them, tries each half: one bad row must not
 * stop the others.
 */
async function writeRows(work, step, batch, { low, high, total }) {
    const { db, run } = work;
    const bounds = {
        place: run.place,
        low: sql `${low}::bigint`,
        high: sql `${high}::bigint`,
        last: sql `${high === total}::boolean`,
    };
    try {
        return await runStatement(db, step, bounds);
    }
    catch (error) {
        if (!isAboutData(error))
            throw error;
    }
    if (high - low === 1)
        return runStatement(db, refuseStep(step, batch), bounds);
    const middle = Math.floor((low + high) / 2);
    const first = await writeRows(work, step, batch, { low, high: middle, total });
    return first + (await writeRows(work, step, batch, { low: middle, high, total }));
}
/** True if PostgreSQL refused the data (classes 21 to 23) or ran out of room for a value (54). */
export const isAboutData = (error) => /^(2[123]|54)/.test(sqlState(error));
/** A serialization failure or a deadlock. PostgreSQL has rolled the statement back, so it can run again. */
export const AGAIN = /^40(001|P01)$/;
async function runStatement(db, step, bounds) {
    const limit = performance.now() + PATIENCE;
    for (let attempt = 1;; attempt++) {
        try {
            const [row] = await db.query(step.statement(bounds));
            return row?.written ?? 0;
        }
        catch (error) {
            const state = sqlState(error);
            if (state === 'GW003' && performance.now() < limit)
                await sleep(POLL);
            else if (attempt === 5 || !AGAIN.test(state))
                return explainLostLease(error);
        }
    }
}
//# sourceMappingURL=apply.js.map