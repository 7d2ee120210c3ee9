import { type Fragment, raw, sql } from '../core/sql.ts';
import { type Database, sqlState } from '../store/driver/postgres.ts';
import { RECORD_TYPES, type RecordType } from './files/records.ts';
import { explainFence, type Run } from './files/run.ts';
import { analyzePlanStep, planStep, repliesStep } from './plan.ts';
import { deleteStep, operatorStep, organizationStep, scopeStep, supersedeStep, websiteStep } from './special.ts';
import type { Bounds, Step } from './steps.ts';
import { lanes, type Sited, TABLES, type Table } from './tables.ts';
import { writeStep } from './write.ts';

/** Steps one after the other. */
type Chain = readonly (Step | Lanes)[];
/** Steps side by side. */
interface Lanes {
  readonly lanes: readonly Step[];
}

const written = (table: Table): Chain => [
  planStep(table),
  ...(table.name === 'message' ? [analyzePlanStep, repliesStep] : []),
  { lanes: Array.from({ length: lanes(table) }, (_, lane) => writeStep(table, lane)) },
];
const tables = (...names: Sited[]): Chain => TABLES.filter((table) => names.includes(table.name)).flatMap(written);

/**
 * The work after staging: groups in order, and in a group chains side by side. Deletions come first, dependents before
 * what they depend on, so that a record that refers to a deleted one is refused in the first run as in every later
 * one. Then records, each type after those it refers to.
 */
const GROUPS: readonly (readonly Chain[])[] = [
  [
    [
      supersedeStep,
      scopeStep('scope'),
      ...RECORD_TYPES.filter((type) => type !== 'delete')
        .toReversed()
        .map(deleteStep),
      organizationStep,
      scopeStep('scope again'),
      websiteStep,
    ],
  ],
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

const NOTHING = sql`0::bigint`;
/** Rows of the first batch; fewer leave a table's statistics as they are. */
const FIRST = 200;

function analyze(type: Sited): Fragment {
  const pairs = TABLES.find((table) => table.name === type)?.links;
  const also = pairs === undefined ? '' : `, platform.${pairs.table}`;
  return sql`ANALYZE platform.${raw(type)} (tenant, site, id, external_id)${raw(also)}`;
}

export interface Applied {
  readonly phase: string;
  readonly done: number;
  readonly total: number | null;
}

interface Work {
  readonly db: Database;
  readonly run: Run;
  readonly signal: AbortSignal | undefined;
  readonly types: ReadonlySet<RecordType>;
  /** What a run that is resumed has done. */
  readonly done: ReadonlyMap<string, { readonly ord: number; readonly finished: boolean }>;
  readonly onProgress: (p: Applied) => void;
}

/** Does what is left of the work, from the positions that the run has recorded. */
export async function apply(
  db: Database,
  run: Run,
  signal: AbortSignal | undefined,
  onProgress: (p: Applied) => void,
): Promise<void> {
  const rows = await db.query<{ step: string; ord: number; finished: boolean }>(
    sql`SELECT step, ord::float8 AS ord, finished FROM gateway.import_step`,
  );
  const done = new Map(rows.map(({ step, ...rest }) => [step, rest]));
  const work: Work = { db, run, signal, types: await stagedTypes(db), done, onProgress };
  for (const group of GROUPS) await together(group.map((chain) => runChain(work, chain)));
}

/** The steps as they would run, as texts without parameters: what `import_rehearse` executes and takes back. */
export async function rehearsal(db: Database, run: Run): Promise<string[]> {
  const types = await stagedTypes(db);
  const bounds: Bounds = {
    epoch: raw(`${run.epoch}::bigint`),
    low: raw('0::bigint'),
    high: raw('9223372036854775807::bigint'),
    last: raw('true'),
  };
  return GROUPS.flat(2)
    .flatMap((link) => ('lanes' in link ? link.lanes : [link]))
    .filter((step) => step.types.some((type) => types.has(type)))
    .flatMap((step) => {
      if (step.batch === undefined) return [step.statement(bounds)];
      const first = raw(`${FIRST}::bigint`);
      return [
        step.statement({ ...bounds, high: first }),
        analyze(step.batch.type),
        step.statement({ ...bounds, low: first }),
      ];
    })
    .map((statement) => statement.texts.join(''));
}

async function stagedTypes(db: Database): Promise<Set<RecordType>> {
  const rows = await db.query<{ type: RecordType }>(
    sql`SELECT type FROM gateway.import_tally WHERE step = '' AND read > 0 AND type <> ''`,
  );
  return new Set(rows.map((row) => row.type));
}

async function runChain(work: Work, chain: Chain): Promise<void> {
  for (const link of chain) {
    await together(('lanes' in link ? link.lanes : [link]).map((step) => runStep(work, step)));
  }
}

/** Waits for all, also when one fails, so that nothing is under way when the lease is let go. */
async function together(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

async function runStep(work: Work, step: Step): Promise<void> {
  const { db, run, types, done, onProgress } = work;
  if (done.get(step.name)?.finished === true || !step.types.some((type) => types.has(type))) return;
  work.signal?.throwIfAborted();
  if (step.needed !== undefined) {
    const [answer] = await db.query<{ needed: boolean }>(step.needed);
    if (answer?.needed !== true) return;
  }
  if (step.batch !== undefined) return runBatches(work, step, step.batch);
  await runStatement(db, step, { epoch: sql`${run.epoch}::bigint`, low: NOTHING, high: NOTHING, last: raw('true') });
  onProgress({ phase: step.name, done: 0, total: null });
}

/**
 * The first batch is small and statistics follow it, and again each time the rows have doubled: about an empty table
 * PostgreSQL knows nothing, and then looks up what foreign keys and totals ask for by the wrong index (0.14 ms a row
 * at 4,000 rows and growing, instead of 0.01).
 */
async function runBatches(work: Work, step: Step, batch: NonNullable<Step['batch']>): Promise<void> {
  const { db, run, signal } = work;
  const [plan] = await db.query<{ total: number }>(
    sql`SELECT coalesce(max(ord), 0)::float8 AS total FROM gateway.import_plan
         WHERE type = ${batch.type} AND lane = ${batch.lane}`,
  );
  const total = plan?.total ?? 0;
  let low = work.done.get(step.name)?.ord ?? 0;
  let analyzed = 0;
  while (low < total) {
    signal?.throwIfAborted();
    const high = Math.min(low + (low === 0 ? FIRST : batch.rows), total);
    const written = await runStatement(db, step, {
      epoch: sql`${run.epoch}::bigint`,
      low: sql`${low}::bigint`,
      high: sql`${high}::bigint`,
      last: sql`${high === total}::boolean`,
    });
    if (written > 0 && high >= Math.max(FIRST, 2 * analyzed) && batch.lane === 0) {
      await db.query(analyze(batch.type));
      analyzed = high;
    }
    low = high;
    work.onProgress({ phase: `write ${batch.type}`, done: low, total });
  }
}

/** A deadlock or a serialization failure has undone the statement: it may run again. */
const AGAIN = /^40(001|P01)$/;

async function runStatement(db: Database, step: Step, bounds: Bounds): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      const [row] = await db.query<{ written?: number }>(step.statement(bounds));
      return row?.written ?? 0;
    } catch (error) {
      if (attempt === 5 || !AGAIN.test(sqlState(error))) return explainFence(error);
    }
  }
}
