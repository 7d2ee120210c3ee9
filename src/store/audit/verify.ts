import { raw, sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';
import { AUDIT_COLUMNS, type StoredAudit } from './records.ts';

/** The days from `from` to `to`, both included, as YYYY-MM-DD. */
export interface AuditDays {
  readonly from: string;
  readonly to: string;
}

export interface SealedAudit extends StoredAudit {
  readonly writer: string;
  readonly seq: string;
  readonly kid: string;
  readonly previous: string;
  readonly digest: string;
  /** False: its time or its targets have a form that no record has, and that its digest does not cover. */
  readonly formed: boolean;
}

/** The end of a chain. Bytes are hexadecimal. */
export interface AuditHead {
  readonly writer: string;
  readonly day: string;
  readonly seq: number;
  readonly kid: string;
  readonly digest: string;
}

const start = (day: string) => sql`(${day}::text::date::timestamp AT TIME ZONE 'UTC')`;
export const inDays = ({ from, to }: AuditDays) =>
  sql`a.time >= ${start(from)} AND a.time < ${start(to)} + interval '1 day'`;
export const hexOf = (column: 'previous' | 'digest') => sql`'\\x' || encode(a.${raw(column)}, 'hex')`;

/** The links of the chains: sealed records, and blocks. `seq` is the number of the last of its `calls` records. */
const links = (days: AuditDays) => sql`(
  SELECT a.writer, a.seq, 1 AS calls, a.previous, a.digest FROM gateway.audit a WHERE ${inDays(days)} AND a.seq IS NOT NULL
  UNION ALL SELECT a.writer, a.seq, a.calls, a.previous, a.digest FROM gateway.audit_block a WHERE ${inDays(days)})`;

/** The first and the last day with a partition that can hold records, without days to come. */
export async function auditDays(db: Database): Promise<AuditDays> {
  const [row] = await db.read<{ from: string; to: string }>(sql`
    SELECT coalesce(min(to_date(substr(c.relname, 7), 'YYYYMMDD')), (now() AT TIME ZONE 'UTC')::date)::text AS from,
           (now() AT TIME ZONE 'UTC')::date::text AS to
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'gateway.audit'::regclass`);
  return row ?? { from: '', to: '' };
}

export async function auditOrganizations(db: Database, days: AuditDays): Promise<string[]> {
  const rows = await db.read<{ id: string }>(
    sql`SELECT a.organization_id AS id FROM gateway.audit a WHERE ${inDays(days)}
         UNION SELECT a.organization_id FROM gateway.audit_block a WHERE ${inDays(days)} ORDER BY 1`,
  );
  return rows.map(({ id }) => id);
}

/** The next sealed records of an organization, the newest first. `before`: the last record of the previous page. */
export const sealedPage = (
  db: Database,
  days: AuditDays,
  organization: string,
  before: Pick<StoredAudit, 'time' | 'id'> | undefined,
  limit: number,
): Promise<SealedAudit[]> =>
  db.read<SealedAudit>(sql`
    SELECT ${AUDIT_COLUMNS}, a.writer, a.seq, a.kid, ${hexOf('previous')} AS previous, ${hexOf('digest')} AS digest,
           a.time = date_trunc('milliseconds', a.time, 'UTC') AND CASE array_ndims(a.targets)
             WHEN 1 THEN array_lower(a.targets, 1) = 1 AND array_position(a.targets, NULL) IS NULL
             ELSE a.targets = '{}' END AS formed
      FROM gateway.audit a
     WHERE a.organization_id = ${organization} AND ${inDays(days)} AND a.seq IS NOT NULL
       AND (a.time, a.id) < (coalesce(${before?.time ?? null}::timestamptz, 'infinity'),
                             coalesce(${before?.id ?? null}::uuid, '00000000-0000-0000-0000-000000000000'))
     ORDER BY a.time DESC, a.id DESC LIMIT ${limit}`);

/** Places where the numbers or digests of a chain do not follow each other. `after`: the number before. */
export const brokenLinks = (
  db: Database,
  day: string,
  limit: number,
): Promise<{ writer: string; seq: string; after: string }[]> =>
  db.read(sql`
    SELECT writer, first AS seq, coalesce(last, 0) AS after
      FROM (SELECT a.writer, a.seq - a.calls + 1 AS first, a.previous, lag(a.seq) OVER chain AS last,
                   lag(a.digest) OVER chain AS ended
              FROM ${links({ from: day, to: day })} a WINDOW chain AS (PARTITION BY a.writer ORDER BY a.seq)) c
     WHERE first <> coalesce(last, 0) + 1 OR previous <> coalesce(ended, decode(repeat('00', 32), 'hex'))
     ORDER BY writer, seq LIMIT ${limit}`);

/** Chains whose last record is not the one that their head names. Without records, `last` is null. */
export const wrongEnds = (
  db: Database,
  day: string,
  limit: number,
): Promise<{ writer: string; head: string | null; last: string | null }[]> =>
  db.read(sql`
    SELECT coalesce(h.writer, l.writer) AS writer, h.seq AS head, l.seq AS last
      FROM (SELECT * FROM gateway.audit_chain c WHERE c.day = ${day}::text::date) h
      FULL JOIN (SELECT DISTINCT ON (a.writer) a.writer, a.seq, a.digest FROM ${links({ from: day, to: day })} a
                  ORDER BY a.writer, a.seq DESC) l
        ON l.writer = h.writer
     WHERE h.seq IS DISTINCT FROM l.seq OR h.digest IS DISTINCT FROM l.digest ORDER BY 1 LIMIT ${limit}`);

export const auditHeads = (db: Database, { from, to }: AuditDays): Promise<AuditHead[]> =>
  db.read<AuditHead>(sql`
    SELECT writer, day::text, seq::float8 AS seq, kid, '\\x' || encode(digest, 'hex') AS digest FROM gateway.audit_chain
     WHERE day BETWEEN ${from}::text::date AND ${to}::text::date ORDER BY day, writer`);

/** Days between others that have no partition. */
export async function missingDays(db: Database, { from, to }: AuditDays): Promise<string[]> {
  const rows = await db.read<{ day: string }>(sql`
    SELECT d::date::text AS day FROM generate_series(${from}::text::timestamp, ${to}::text::timestamp, interval '1 day') d
     WHERE NOT EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                        WHERE i.inhparent = 'gateway.audit'::regclass AND c.relname = 'audit_' || to_char(d, 'YYYYMMDD'))
     ORDER BY 1`);
  return rows.map(({ day }) => day);
}

const without = (table: 'audit' | 'audit_block') => sql`
  NOT EXISTS (SELECT FROM gateway.${raw(table)} a WHERE a.time >= h.day::timestamp AT TIME ZONE 'UTC'
                 AND a.time < (h.day + 1)::timestamp AT TIME ZONE 'UTC'
                 AND a.writer = h.writer AND a.seq = h.seq AND a.digest = h.digest::bytea)`;

/** Heads of the last `days` days that were kept elsewhere and whose record is no longer there. */
export const missingHeads = (
  db: Database,
  heads: readonly AuditHead[],
  days: number,
  limit: number,
): Promise<AuditHead[]> =>
  db.read<AuditHead>(sql`
    SELECT h.writer, h.day::text, h.seq::float8 AS seq, h.kid, h.digest
      FROM json_to_recordset(${JSON.stringify(heads)}::text::json)
           AS h (writer uuid, day date, seq bigint, kid text, digest text)
     WHERE ${without('audit')} AND ${without('audit_block')}
       AND h.day >= (now() AT TIME ZONE 'UTC')::date - ${days}::integer
     ORDER BY h.day, h.writer LIMIT ${limit}`);

/** Ids that several records have. The draft of a record has its id, so it was inserted again. `day`: of the last one. */
export const repeatedIds = (db: Database, days: AuditDays, limit: number): Promise<{ id: string; day: string }[]> =>
  db.read(sql`
    SELECT a.id, to_char(max(a.time) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day FROM gateway.audit a
     WHERE ${inDays(days)} GROUP BY a.id HAVING count(*) > 1 ORDER BY 2, 1 LIMIT ${limit}`);

/** Records of writes that no process has sealed for more than a minute. */
export const unsealedRecords = (
  db: Database,
  days: AuditDays,
  limit: number,
): Promise<{ id: string; time: string }[]> =>
  db.read(sql`
    SELECT a.id, a.time::text FROM gateway.audit a
     WHERE ${inDays(days)} AND a.seq IS NULL AND a.time < now() - interval '1 minute' ORDER BY a.time LIMIT ${limit}`);

/**
 * Acknowledged writes of the ledger without an audit record, since the store has audit records. They came with migration 28. A
 * store that began with the files of the schema has only later ones.
 */
export const unrecordedWrites = (
  db: Database,
  { from, to }: AuditDays,
  limit: number,
): Promise<{ operation_id: string; operation: string }[]> =>
  db.read(sql`
    SELECT o.operation_id, o.operation FROM gateway.operation o
     WHERE o.status = 'acknowledged' AND o.created_at < now() - interval '1 minute'
       AND o.created_at >= ${start(from)} AND o.created_at < ${start(to)} + interval '1 day'
       AND o.created_at >= (SELECT min(m.applied_at) FROM public.gateway_migration m WHERE m.version >= 28)
       AND NOT EXISTS (SELECT FROM gateway.audit a WHERE a.operation_id = o.operation_id AND NOT a.replayed
                          AND a.time >= ${start(from)} - interval '1 day')
     ORDER BY o.created_at LIMIT ${limit}`);
