import { type Fragment, raw, sql } from '../core/sql.ts';
import type { RecordType } from './files/records.ts';
import type { Sited } from './tables.ts';

/** The values in the statement of a step. The values are parameters in a run and literals in a rehearsal. */
export interface Bounds {
  readonly epoch: Fragment;
  /** The step works on the plan rows after `low` up to `high`. `last` is true when no plan rows follow. */
  readonly low: Fragment;
  readonly high: Fragment;
  readonly last: Fragment;
}

/**
 * One part of the work after the staging of lines. A step is one statement, or one statement for each batch of plan
 * rows.
 */
export interface Step {
  readonly name: string;
  /** The record types of the step. The step is skipped when no line of these types was staged. */
  readonly types: readonly RecordType[];
  /** Only for steps that work through the plan of a type. `rows` is the number of plan rows in one statement. */
  readonly batch?: { readonly type: Sited; readonly lane: number; readonly rows: number };
  /**
   * A statement that tells whether the run needs the step. The statement returns one row. Only steps that few runs need
   * have such a statement.
   */
  readonly needed?: Fragment;
  statement(bounds: Bounds): Fragment;
}

export const fence = (bounds: Bounds): Fragment =>
  sql`fence AS MATERIALIZED (SELECT gateway.import_fence(${bounds.epoch}))`;

/**
 * Returns the last part of the SQL statement of a step. This part records the run's progress and the row counts of the
 * record type, in the same transaction as the data.
 */
export function progress(
  bounds: Bounds,
  step: string,
  type: RecordType | undefined,
  counts: { written?: string; unchanged?: string; removed?: string; rejected?: string },
): Fragment {
  const { written = '0', unchanged = '0', removed = '0', rejected = '0' } = counts;
  const quoted = type === undefined ? 'NULL' : `'${type}'`;
  return sql`SELECT gateway.import_progress(${bounds.epoch}, ${raw(`'${step}'`)}, ${bounds.high}, ${bounds.last}, ${raw(quoted)},
    ${raw([written, unchanged, removed, rejected].map((count) => `(${count})`).join(', '))}), ${raw(`(${written})::float8 AS written`)}`;
}

/**
 * Returns the common table expressions that end the statement of a plan. Rows of `judged` with a verdict ('code
 * pointer') become rejects. An exact repetition of a record is not a reject.
 */
export const rejecting = (type: RecordType, judged = 'judged'): Fragment =>
  raw(`refused AS MATERIALIZED (
    SELECT j.seq, j.verdict, s.file, s.line,
           j.newer IS NOT NULL AND j.verdict LIKE 'duplicate_record %' AND (s.owner, s.refs, s.links, s.data::text)
             IS NOT DISTINCT FROM (n.owner, n.refs, n.links, n.data::text) AS repeated
      FROM ${judged} j
      JOIN gateway.import_stage s ON s.type = '${type}' AND s.seq = j.seq
      LEFT JOIN gateway.import_stage n ON n.type = '${type}' AND n.seq = j.newer
     WHERE j.verdict IS NOT NULL
  ), reported AS (
    INSERT INTO gateway.import_reject (seq, place, file, line, code, pointer)
    SELECT seq, 0, file, line, split_part(verdict, ' ', 1), split_part(verdict, ' ', 2) FROM refused WHERE NOT repeated
  )`);

export const REFUSED = 'SELECT count(*) FROM refused WHERE NOT repeated';
export const REPEATED = 'SELECT count(*) FROM refused WHERE repeated';
