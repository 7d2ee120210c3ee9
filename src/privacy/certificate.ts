import { sql } from '../core/sql.ts';
import type { Database } from '../store/driver/postgres.ts';

/** What an erasure says about itself. It has no content of the person. */
export interface Certificate {
  /** Null in a dry run. */
  readonly erasure_id: string | null;
  readonly time: string;
  readonly kind: Kind;
  readonly organization_id: string;
  /** A keyed digest of the person's id. Null in a dry run of a store in which nobody was erased before. */
  readonly subject_digest: string | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly backups: string;
  readonly dry_run: boolean;
}

export type Kind = 'contact' | 'visitor';

export interface StoredErasure {
  readonly id: string;
  readonly kind: Kind;
  readonly organization_id: string;
  readonly subject: string;
  readonly subject_digest: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly created_at: string;
  readonly finished: boolean;
}

export const BACKUPS =
  'Backups, write-ahead logs and replicas from before this time still hold the person until they expire. After restoring such a backup, run: gateway restored --yes --erasures FILE';

export async function findErasure(db: Database, tenant: string, subject: string): Promise<StoredErasure | undefined> {
  const [row] = await db.query<StoredErasure>(sql`
    SELECT id, kind, organization_id, subject, subject_digest, counts, finished_at IS NOT NULL AS finished,
           to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at
      FROM gateway.erasure WHERE tenant = ${tenant} AND subject = ${subject}
     ORDER BY finished_at DESC NULLS FIRST LIMIT 1`);
  return row;
}

export const certificateOf = (row: StoredErasure): Certificate => ({
  erasure_id: row.id,
  time: row.created_at,
  kind: row.kind,
  organization_id: row.organization_id,
  subject_digest: row.subject_digest,
  counts: row.counts,
  backups: BACKUPS,
  dry_run: false,
});
