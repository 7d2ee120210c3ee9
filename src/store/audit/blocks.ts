import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';
import { type AuditDays, hexOf, inDays, type SealedAudit } from './verify.ts';

type OfRecord =
  | 'time'
  | 'id'
  | 'organization_id'
  | 'app_id'
  | 'installation_id'
  | 'person_id'
  | 'client_name'
  | 'client_version'
  | 'address'
  | 'surface'
  | 'writer'
  | 'seq'
  | 'kid'
  | 'previous'
  | 'digest';

/** A block of records of one caller (gateway.audit_block). `seq` is the place of its last record. */
export interface SealedBlock extends Pick<SealedAudit, OfRecord> {
  readonly calls: number;
  readonly credential_id: string;
  /** The number of its targets. */
  readonly named: number;
  readonly records: string;
  /** Its time to the microsecond, for the next page. */
  readonly at: string;
  /** False: its time is no whole second, as that of each block is. Its digest covers only milliseconds. */
  readonly formed: boolean;
}

/** The next blocks of an organization, the newest first. `before`: the last block of the previous page. */
export const blockPage = (
  db: Database,
  days: AuditDays,
  organization: string,
  before: Pick<SealedBlock, 'at' | 'id'> | undefined,
  limit: number,
): Promise<SealedBlock[]> =>
  db.read<SealedBlock>(sql`
    SELECT to_char(a.time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS time, a.id, a.calls, a.organization_id,
           a.app_id, a.installation_id, a.credential_id, a.person_id, a.client_name, a.client_version, a.address, a.surface,
           a.named, a.records, a.writer, a.seq, a.kid, ${hexOf('previous')} AS previous, ${hexOf('digest')} AS digest,
           a.time::text AS at, a.time = date_trunc('second', a.time, 'UTC') AS formed
      FROM gateway.audit_block a
     WHERE a.organization_id = ${organization} AND ${inDays(days)}
       AND (a.time, a.id) < (coalesce(${before?.at ?? null}::timestamptz, 'infinity'),
                             coalesce(${before?.id ?? null}::uuid, '00000000-0000-0000-0000-000000000000'))
     ORDER BY a.time DESC, a.id DESC LIMIT ${limit}`);

/** Ids of those of these blocks that are gone, or whose records name something that gateway.audit_target does not have. */
export async function misnamedBlocks(db: Database, blocks: readonly SealedBlock[]): Promise<string[]> {
  const keys = JSON.stringify(blocks.map(({ time, id, credential_id }) => ({ time, id, credential_id })));
  const rows = await db.read<{ id: string }>(sql`
    SELECT k.id
      FROM json_to_recordset(${keys}::text::json) AS k (time timestamptz, id uuid, credential_id text)
      LEFT JOIN gateway.audit_block a ON a.credential_id = k.credential_id AND a.time = k.time AND a.id = k.id
     WHERE a.id IS NULL OR EXISTS (
       SELECT FROM (
         SELECT x.target, count(*) AS calls, count(*) FILTER (WHERE e.outcome <> 'ok') AS failed, min(e.ms) AS first_ms,
                max(e.ms) AS last_ms
           FROM unnest(a.records::gateway.audit_entry[]) e CROSS JOIN LATERAL (SELECT DISTINCT unnest(e.targets)) x (target)
          GROUP BY 1) n
        WHERE NOT EXISTS (
          SELECT FROM gateway.audit_target t
           WHERE t.target = n.target AND t.credential_id = a.credential_id AND t.time = a.time AND t.block = a.id
             AND t.person_id IS NOT DISTINCT FROM a.person_id
             AND (t.calls, t.failed, t.first_ms, t.last_ms) = (n.calls, n.failed, n.first_ms, n.last_ms)))`);
  return rows.map(({ id }) => id);
}

/** How many targets of a day belong to no block. Less than zero: some are missing. */
export async function surplusTargets(db: Database, day: string): Promise<number> {
  const days = { from: day, to: day };
  const [row] = await db.read<{ n: number }>(sql`
    SELECT ((SELECT count(*) FROM gateway.audit_target a WHERE ${inDays(days)})
            - (SELECT coalesce(sum(a.named), 0) FROM gateway.audit_block a WHERE ${inDays(days)}))::float8 AS n`);
  return row?.n ?? 0;
}
