import { type Fragment, sql } from '../../core/sql.ts';
import { numberOf } from '../driver/answers.ts';
import { sqlState } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';
import type { AuditHead } from './verify.ts';

/** A chain's end after a batch. `before`: the number of its last record before the batch. */
export interface ChainHead extends Omit<AuditHead, 'writer'> {
  readonly before: number;
}

/**
 * What one statement appends (gateway.append_audit). `records` is a literal of an array (audit/row.ts), the rest JSON.
 * `named` has the targets of the blocks.
 */
export interface AuditBatch {
  readonly writer: string;
  readonly heads: string;
  readonly records: string;
  readonly blocks: string;
  readonly named: string;
  readonly seals: string;
  readonly sums: string;
}

const clockOf = async (db: Database, answer: Fragment): Promise<number> => {
  const [row] = await db.query<{ now: number }>(sql`SELECT ${answer} AS now`);
  return row?.now ?? Date.now();
};

/** Appends a batch. Returns PostgreSQL's clock in Unix milliseconds. A repeated batch is appended only once. */
export const appendAudit = (
  db: Database,
  { writer, heads, records, blocks, named, seals, sums }: AuditBatch,
): Promise<number> =>
  clockOf(
    db,
    sql`gateway.append_audit(${writer}::uuid, ${heads}::text::json, ${records}::text::gateway.audit_row[],
                             ${blocks}::text::json, ${named}::text::json, ${seals}::text::json, ${sums}::text::json)`,
  );

/** Creates the partitions of the next days. Returns PostgreSQL's clock in Unix milliseconds. */
export const prepareAudit = (db: Database, ahead: number): Promise<number> =>
  clockOf(db, sql`gateway.prepare_audit(${ahead}::integer)`);

/** Drops the records of the oldest day, if it is over for more than `days` days. Returns the number of dropped days. */
export const dropAudit = (db: Database, days: number): Promise<number> =>
  numberOf(db.query(sql`SELECT gateway.drop_audit(${days}::integer) AS n`));

/** Deletes the chains of dropped days, and at most `n` of their sums. Returns the number of these sums. */
export const clearAudit = (db: Database, days: number, n: number): Promise<number> =>
  numberOf(db.query(sql`SELECT gateway.clear_audit(${days}::integer, ${n}::integer) AS n`));

/** The last record of a process's chain of a day, as PostgreSQL has it. Undefined: it has no such chain. */
export async function chainEnd(
  db: Database,
  writer: string,
  day: string,
): Promise<{ readonly seq: number; readonly digest: string } | undefined> {
  const [row] = await db.query<{ seq: number; digest: string }>(sql`
    SELECT c.seq::float8 AS seq, '\\x' || encode(c.digest, 'hex') AS digest FROM gateway.audit_chain c
     WHERE c.writer = ${writer}::uuid AND c.day = ${day}::text::date`);
  return row;
}

/** True if another process has sealed a record of the batch. PostgreSQL has then undone the whole batch. */
export const isSealedElsewhere = (error: unknown): boolean => sqlState(error) === 'GW409';

/** True if a value of the batch is the cause, so that the batch would fail again. Class 54: it is too long for an index. */
export const isBadRecord = (error: unknown): boolean => /^(2[23]|54)/.test(sqlState(error));
