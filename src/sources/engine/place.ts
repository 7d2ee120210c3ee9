import { type Fragment, raw, sql } from '../../core/sql.ts';

/**
 * Where a run works: the names of its staging tables, and the SQL that checks its lease, limits it and records it. A
 * staged run uses the tables of its slot. A page of a source uses temporary tables, because one transaction writes it.
 */
export interface RunPlace {
  readonly stage: string;
  readonly chunk: string;
  readonly plan: string;
  readonly reject: string;
  /** SQL for the numbers of the organizations in which references are looked up. */
  readonly scope: string;
  /** SQL for the organization that the caller named. Null if the caller named none. */
  readonly organization: string;
  /** A statement of a run fails if another process has taken the run over. */
  readonly lease: Fragment;
  /** True for a source: what only the gateway knows about a record is kept. */
  readonly live: boolean;
  /** SQL for a time before the reading of each of its records. A page is written soon after it was read, a run hours later. */
  readonly since: string;
  /** How many batches of one type are written at the same time. */
  readonly lanes: number;
  progress(done: StepProgress): Fragment;
  /** Counts rejects beside `progress`. `type` and `rejected` are SQL. */
  count(step: string, type: string, rejected: string): Fragment;
  /** SQL that counts records of erased people, which the step has left out. `type` and `count` are SQL. */
  suppressed(step: string, type: string, count: string): string;
  /** Sets the scope of a run to the columns `tenants` and `names` of the query. */
  setScope(step: string): Fragment;
}

export interface StepProgress {
  readonly step: string;
  readonly high: Fragment;
  readonly last: Fragment;
  /** The record type as an SQL literal, or NULL. */
  readonly type: string;
  /** The numbers of written, unchanged, removed and rejected records, as SQL. */
  readonly counts: readonly string[];
}

const SOON = `now() - interval '10 minutes'`;

/** `live` as in RunPlace. The values are literals in a rehearsal, which has no parameters. */
export function slotPlace(slot: number, epoch: Fragment, live: boolean): RunPlace {
  const run = raw(String(slot));
  const of = (column: string): string => `(SELECT ${column} FROM gateway.import_run WHERE slot = ${slot})`;
  return {
    stage: `gateway.import_stage_${slot}`,
    chunk: `gateway.import_chunk_${slot}`,
    plan: `gateway.import_plan_${slot}`,
    reject: `gateway.import_reject_${slot}`,
    scope: `${of('scope')}::bigint[]`,
    organization: of('organization'),
    lease: sql`gateway.import_fence(${run}, ${epoch})`,
    live,
    // A write to the helpdesk that is under way when the run begins takes at most ten seconds.
    since: `least(${SOON}, ${of('began')} - interval '1 minute')`,
    lanes: 2,
    progress: ({ step, high, last, type, counts }) =>
      sql`gateway.import_progress(${run}, ${epoch}, ${raw(`'${step}'`)}, ${high}, ${last}, ${raw(type)},
    ${raw(counts.map((count) => `(${count})`).join(', '))})`,
    suppressed: (step, type, count) => `gateway.import_suppressed(${slot}, ${type}, '${step}', (${count}))`,
    count: (step, type, rejected) => raw(`gateway.import_count(${slot}, ${type}, '${step}', 0, 0, 0, 0, ${rejected})`),
    setScope: (step) => sql`gateway.import_scope(${run}, ${epoch}, ${raw(`'${step}'`)}, tenants, names)`,
  };
}

/** The place of one page of a source. The transaction of the page has checked the lease itself. */
export const pagePlace = (tenant: number): RunPlace => ({
  stage: 'pg_temp.page_stage',
  chunk: 'pg_temp.page_chunk',
  plan: 'pg_temp.page_plan',
  reject: 'pg_temp.page_reject',
  scope: `ARRAY[${tenant}]::bigint[]`,
  organization: 'NULL::text',
  lease: raw('NULL'),
  live: true,
  since: SOON,
  lanes: 1,
  progress: ({ type, counts }) =>
    sql`gateway.page_count(${raw(`${type}::text, ${counts.map((c) => `(${c})`).join(', ')}`)})`,
  suppressed: (_, __, count) => `gateway.page_suppressed((${count}))`,
  count: (_, type, rejected) => raw(`gateway.page_count(${type}, 0, 0, 0, ${rejected})`),
  setScope: () => raw('NULL'),
});
