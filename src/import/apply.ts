import { type Fragment, raw, sql } from '../core/sql.ts';
import type { Database } from '../store/postgres.ts';
import { planStep } from './plan.ts';
import { RECORD_TYPES, type RecordType } from './records.ts';
import { explainFence, type Run } from './run.ts';
import { deleteStep, operatorStep, organizationStep, scopeStep, supersedeStep, websiteStep } from './special.ts';
import type { Bounds, Step } from './steps.ts';
import { TABLES } from './tables.ts';
import { writeStep } from './write.ts';

const REMOVABLE = RECORD_TYPES.filter((type) => type !== 'delete');
const written = (name: RecordType): Step[] =>
  TABLES.filter((table) => table.name === name).flatMap((table) => [planStep(table), writeStep(table)]);

/**
 * The work after staging, in order. Deletions come first, dependents before what they depend on, so that a record
 * that refers to a deleted one is refused in the first run as in every later one. Then records, each type after
 * those it refers to.
 */
export const STEPS: readonly Step[] = [
  supersedeStep,
  scopeStep('scope'),
  ...REMOVABLE.toReversed().map(deleteStep),
  organizationStep,
  scopeStep('scope again'),
  websiteStep,
  ...['subsite', 'channel', 'team']
    .flatMap((name) => TABLES.filter((table) => table.name === name))
    .flatMap((table) => [planStep(table), writeStep(table)]),
  operatorStep,
  ...TABLES.filter(({ name }) => name !== 'subsite' && name !== 'channel' && name !== 'team').flatMap(({ name }) =>
    written(name),
  ),
];

const LAST = '9223372036854775807';

export interface Applied {
  readonly phase: string;
  readonly done: number;
  readonly total: number | null;
}

/** Runs the steps that are left, from the position that the run has recorded. */
export async function apply(
  db: Database,
  run: Run,
  resumed: { step: string | null; ord: number },
  signal: AbortSignal | undefined,
  onProgress: (p: Applied) => void,
): Promise<void> {
  const steps = await stepsFor(db);
  const at = steps.findIndex((step) => step.name === resumed.step);
  for (const [i, step] of steps.entries()) {
    if (i < at || (i === at && step.batch === undefined)) continue;
    signal?.throwIfAborted();
    const total = step.batch === undefined ? null : await planned(db, step.batch.type);
    let low = i === at ? resumed.ord : 0;
    if (step.batch === undefined) {
      await runStep(db, step, { epoch: sql`${run.epoch}::bigint`, low: sql`0::bigint`, high: sql`0::bigint` });
    } else {
      while (low < (total ?? 0)) {
        signal?.throwIfAborted();
        const high = Math.min(low + step.batch.rows, total ?? 0);
        await runStep(db, step, {
          epoch: sql`${run.epoch}::bigint`,
          low: sql`${low}::bigint`,
          high: sql`${high}::bigint`,
        });
        low = high;
        onProgress({ phase: step.name, done: low, total });
      }
    }
    onProgress({ phase: step.name, done: low, total });
  }
}

/** The steps as they would run, as texts without parameters: what `import_rehearse` executes and takes back. */
export async function rehearsal(db: Database, run: Run): Promise<string[]> {
  const bounds: Bounds = { epoch: raw(`${run.epoch}::bigint`), low: raw('0::bigint'), high: raw(`${LAST}::bigint`) };
  return (await stepsFor(db)).map((step) => step.statement(bounds).texts.join(''));
}

async function stepsFor(db: Database): Promise<Step[]> {
  const rows = await db.query<{ type: RecordType }>(
    sql`SELECT type FROM gateway.import_tally WHERE read > rejected OR type = 'delete'`,
  );
  const types = new Set(rows.map((row) => row.type));
  return STEPS.filter((step) => step.types.some((type) => types.has(type)));
}

async function planned(db: Database, type: RecordType): Promise<number> {
  const [row] = await db.query<{ total: number }>(
    sql`SELECT coalesce(max(ord), 0)::float8 AS total FROM gateway.import_plan WHERE type = ${type}`,
  );
  return row?.total ?? 0;
}

async function runStep(db: Database, step: Step, bounds: Bounds): Promise<void> {
  const statement: Fragment = step.statement(bounds);
  await db.query(statement).catch(explainFence);
}
