import { raw, sql } from '../../core/sql.js';
/** `live` as in RunPlace. The values are literals in a rehearsal, which has no parameters. */
export function slotPlace(slot, epoch, live) {
    const run = raw(String(slot));
    const of = (column) => `(SELECT ${column} FROM gateway.import_run WHERE slot = ${slot})`;
    return {
        stage: `gateway.import_stage_${slot}`,
        chunk: `gateway.import_chunk_${slot}`,
        plan: `gateway.import_plan_${slot}`,
        reject: `gateway.import_reject_${slot}`,
        scope: `${of('scope')}::bigint[]`,
        organization: of('organization'),
        lease: sql `gateway.import_fence(${run}, ${epoch})`,
        live,
        lanes: 2,
        progress: ({ step, high, last, type, counts }) => sql `gateway.import_progress(${run}, ${epoch}, ${raw(`'${step}'`)}, ${high}, ${last}, ${raw(type)},
    ${raw(counts.map((count) => `(${count})`).join(', '))})`,
        suppressed: (step, type, count) => `gateway.import_suppressed(${slot}, ${type}, '${step}', (${count}))`,
        count: (step, type, rejected) => raw(`gateway.import_count(${slot}, ${type}, '${step}', 0, 0, 0, 0, ${rejected})`),
        setScope: (step) => sql `gateway.import_scope(${run}, ${epoch}, ${raw(`'${step}'`)}, tenants, names)`,
    };
}
/** The place of one page of a source. The transaction of the page has checked the lease itself. */
export const pagePlace = (tenant) => ({
    stage: 'pg_temp.page_stage',
    chunk: 'pg_temp.page_chunk',
    plan: 'pg_temp.page_plan',
    reject: 'pg_temp.page_reject',
    scope: `ARRAY[${tenant}]::bigint[]`,
    organization: 'NULL::text',
    lease: raw('NULL'),
    live: true,
    lanes: 1,
    progress: ({ type, counts }) => sql `gateway.page_count(${raw(`${type}::text, ${counts.map((c) => `(${c})`).join(', ')}`)})`,
    suppressed: (_, __, count) => `gateway.page_suppressed((${count}))`,
    count: (_, type, rejected) => raw(`gateway.page_count(${type}, 0, 0, 0, ${rejected})`),
    setScope: () => raw('NULL'),
});
//# sourceMappingURL=place.js.map