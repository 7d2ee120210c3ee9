import { join, raw, sql } from '../../core/sql.ts';
import { deleteBatch } from '../driver/batches.ts';
import type { Database } from '../driver/postgres.ts';
import { keepOutOfLog } from './replication.ts';
import { type MovingTable, number, ORGANIZATION, partsOf } from './tables.ts';

export interface RowSum {
  readonly name: string;
  readonly rows: number;
  /** RowSum of the hashes of all rows, as a number. It tells nothing about one row. */
  readonly digest: string;
}

const union = (parts: readonly MovingTable[], columns: string) =>
  join(
    parts.map(
      ({ name, where }) => sql`SELECT ${name}::text AS name, ${raw(columns)} FROM ${raw(name)} t WHERE ${raw(where)}`,
    ),
    ' UNION ALL ',
  );

/** Rows of the organization by table, in one snapshot. */
export const countRows = (db: Database, parts: readonly MovingTable[]): Promise<Pick<RowSum, 'name' | 'rows'>[]> =>
  parts.length === 0 ? Promise.resolve([]) : db.query(union(parts, 'count(*)::float8 AS rows'));

const DIGEST = 'count(*)::float8 AS rows, coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text AS digest';

export const digestRows = (db: Database, parts: readonly MovingTable[]): Promise<RowSum[]> =>
  db.query(union(parts, DIGEST));

/**
 * Starts to sum all rows, and resolves when the snapshot of the sums is taken. `sums` comes later. What is written in between
 * does not count. `summing` has one connection, which keeps a transaction until it closes. If the connection gets lost,
 * the sums differ, and nothing else happens.
 */
export async function digestFrom(summing: Database, tenant: string): Promise<{ readonly sums: Promise<RowSum[]> }> {
  await summing.script('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await summing.query(sql`SELECT pg_current_snapshot()::text`);
  const parts = partsOf(tenant).filter((one) => !one.copied);
  const sums = digestRows(summing, parts);
  sums.catch(() => undefined); // the caller awaits it after the hold
  return { sums };
}

export interface TableSize extends Pick<RowSum, 'name' | 'rows'> {
  /** Estimated bytes with indexes: the table's size by the organization's share of its rows. */
  readonly bytes: number;
}

export const sizesOf = (db: Database, tenant: string): Promise<TableSize[]> =>
  db.query<TableSize>(sql`
    SELECT c.name, c.rows, (pg_total_relation_size(c.name::regclass) * least(1, c.rows / greatest(1, r.reltuples)))::float8 AS bytes
      FROM (${union(partsOf(tenant), 'count(*)::float8 AS rows')}) c JOIN pg_class r ON r.oid = c.name::regclass
     ORDER BY c.rows DESC, c.name`);

/** The row of the organization as JSON, without the mark of a move. */
export async function organizationRow(source: Database, tenant: string): Promise<string> {
  const [row] = await source.query<{ row: string }>(sql`
    SELECT (to_jsonb(o) - 'moved_to' - 'moved_at')::text AS row FROM platform.organization o WHERE o.tenant = ${tenant}`);
  if (!row) throw new Error('the organization is gone');
  return row.row;
}

/**
 * Makes the organization at the target, marked as one that lives elsewhere, and the row of its arrival, at once. If it had
 * lived there before, its row is there: it `returns`.
 */
export const insertArrival = (
  target: Database,
  tenant: string,
  row: string,
  { baseUrl, peer }: { readonly baseUrl: string; readonly peer: string },
): Promise<object[]> =>
  target.query(sql`
    WITH made AS (
      INSERT INTO platform.organization OVERRIDING SYSTEM VALUE
      SELECT (o).* FROM (SELECT jsonb_populate_record(NULL::platform.organization,
                ${row}::text::jsonb || jsonb_build_object('moved_to', ${baseUrl}::text, 'moved_at', now())) AS o OFFSET 0) p
      ON CONFLICT (tenant) DO NOTHING RETURNING tenant
    )
    INSERT INTO gateway.move (tenant, phase, base_url, peer, returns)
    VALUES (${tenant}, 'arriving', ${baseUrl}, ${peer}, NOT EXISTS (SELECT FROM made))`);

/**
 * Copies what has no tenant, and the organization's own row, in one transaction at the target. No trigger fires there:
 * the rows are no news. Returns the source's sums.
 */
export async function copyRows(source: Database, target: Database, tenant: string): Promise<RowSum[]> {
  const parts = partsOf(tenant).filter((one) => one.copied);
  const rows = await source.query<RowSum & { list: string }>(
    union(parts, `${DIGEST}, coalesce(string_agg(quote_literal(t::text), ','), '') AS list`),
  );
  const own = await organizationRow(source, tenant);
  const columns = await target.query<{ name: string }>(sql`
    SELECT quote_ident(attname) AS name FROM pg_attribute
     WHERE attrelid = ${ORGANIZATION}::regclass AND attnum > 0 AND NOT attisdropped
       AND attname NOT IN ('tenant', 'moved_to', 'moved_at')`);
  const names = columns.map(({ name }) => name);
  await keepOutOfLog(target);
  await target.script(
    [
      'SET LOCAL session_replication_role = replica',
      // The rows of an earlier hold that did not end.
      ...parts
        .toReversed()
        .map(
          ({ name, where }) => `DELETE FROM ${name} d WHERE d.ctid IN (SELECT t.ctid FROM ${name} t WHERE ${where})`,
        ),
      ...rows
        .filter(({ list }) => list !== '')
        .map(({ name, list }) => `INSERT INTO ${name} SELECT v.* FROM unnest(ARRAY[${list}]::${name}[]) AS v`),
      `UPDATE platform.organization o SET (${names.join()}) = (SELECT ${names.map((name) => `j.${name}`).join()}
         FROM jsonb_populate_record(NULL::platform.organization, ${quoted(own)}::jsonb) j) WHERE o.tenant = ${number(tenant)}`,
    ].join(';\n'),
  );
  return rows.map(({ list: _, ...sum }) => sum);
}

const quoted = (text: string): string => `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

export const copiedSums = (db: Database, tenant: string): Promise<RowSum[]> =>
  digestRows(
    db,
    partsOf(tenant).filter((one) => one.copied),
  );

/**
 * Deletes at most `n` rows of a table, without receipts, and only while the organization of `tenant` does not live here:
 * `arriving` at the target of a move, or `moved` away. For `arriving` no trigger fires, which needs the right to set
 * session_replication_role. The settings hold for this statement's transaction.
 */
export function deleteRows(
  db: Database,
  tenant: string,
  part: MovingTable,
  { n, phase }: { readonly n: number; readonly phase: 'arriving' | 'moved' },
): Promise<number> {
  const quiet =
    phase === 'arriving'
      ? sql`set_config('session_replication_role', 'replica', true) = 'replica'`
      : sql`set_config('gateway.capture', 'off', true) = 'off'`;
  const allowed = sql`
    SELECT ${quiet} FROM gateway.move m JOIN platform.organization o ON o.tenant = m.tenant AND o.moved_to IS NOT NULL
     WHERE m.tenant = ${tenant} AND m.phase = ${phase}`;
  return deleteBatch(db, part, n, allowed);
}
