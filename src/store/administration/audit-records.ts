import type { AuditFilter } from '../../core/audit-records.ts';
import { join, raw, sql } from '../../core/sql.ts';
import { type AuditPlace, type AuditRow, type AuditRows, auditRows, pageOf } from '../calls/audit-records.ts';
import type { Database } from '../driver/postgres.ts';

/** The records of a statement of an operator. */
const ROWS = 1_000;

/** Reads one page of records: of an organization, a credential, a person or a target. `limit` is at most 1,000. */
export async function readAuditPage(
  db: Database,
  filter: AuditFilter,
  {
    limit,
    after,
    order = 'newest',
  }: { readonly limit: number; readonly after?: AuditPlace | undefined; readonly order?: 'newest' | 'oldest' },
): Promise<AuditRows> {
  return pageOf(await db.query<AuditRow>(auditRows(filter, { order, after, rows: ROWS + 1 })), Math.min(limit, ROWS));
}

/** The pages of all records that match, one organization after the other. Holds only one page. */
export async function* auditPages(
  db: Database,
  filter: AuditFilter,
  order: 'newest' | 'oldest',
  limit = ROWS,
): AsyncGenerator<readonly AuditRow[]> {
  for (const one of await separately(db, filter)) {
    let after: AuditPlace | undefined;
    do {
      const { rows, next } = await readAuditPage(db, one, { limit, after, order });
      if (rows.length > 0) yield rows;
      after = next;
    } while (after !== undefined);
  }
}

/** The newest records that match, at most `limit` of them. Reads until it has found them, or has seen all records. */
export async function newestAudit(db: Database, filter: AuditFilter, limit: number): Promise<AuditRow[]> {
  const newest: AuditRow[] = [];
  for (const one of await separately(db, filter)) {
    let found = 0;
    for await (const rows of auditPages(db, one, 'newest', limit)) {
      newest.push(...rows);
      found += rows.length;
      if (found >= limit) break;
    }
  }
  const later = (a: AuditRow, b: AuditRow): number => b.at.getTime() - a.at.getTime() || (a.id < b.id ? 1 : -1);
  return newest.sort(later).slice(0, limit);
}

/** One filter for each index range that holds matching records in order: of a credential, a person or an organization. */
async function separately(db: Database, filter: AuditFilter): Promise<AuditFilter[]> {
  const { organization, app, credential, person, target } = filter;
  if (credential !== undefined || person !== undefined) return [filter];
  if (app !== undefined) {
    const found = await db.query<{ id: string }>(sql`
      SELECT c.id FROM gateway.credential c JOIN gateway.installation i ON i.id = c.installation_id WHERE i.app_id = ${app}`);
    return found.map(({ id }) => ({ ...filter, credential: id }));
  }
  if (organization !== undefined || (target !== undefined && !target.startsWith('web_'))) return [filter];
  // Looks up the next organization in the index, instead of reading all records.
  const found = await db.query<{ id: string }>(sql`
    WITH RECURSIVE o (id) AS (
      SELECT min(a.organization_id) FROM gateway.audit a
      UNION ALL SELECT (SELECT min(a.organization_id) FROM gateway.audit a WHERE a.organization_id > o.id) FROM o WHERE o.id IS NOT NULL)
    SELECT o.id FROM o WHERE o.id IS NOT NULL`);
  return found.map(({ id }) => ({ ...filter, organization: id }));
}

/** Who has read a record, or tried to. An app has a credential. A page is opened by a person without an app. */
export interface AuditReader {
  /** Null if the credential is no longer known. */
  readonly organization_id: string | null;
  readonly app_id: string | null;
  readonly app_name: string | null;
  readonly credential_id: string | null;
  readonly person_id: string | null;
  readonly email: string | null;
  /** The calls that succeeded. */
  readonly calls: number;
  /** The calls that were refused or failed. */
  readonly failed: number;
  readonly first_at: Date;
  readonly last_at: Date;
}

/**
 * Finds the apps and people whose calls named a record in the last `days` days, or whose calls answered with this record
 * alone. Most calls come first. Reads only the indexes of targets. `organization` is a public id.
 *
 * Calls that showed the record in a list, or that named only its conversation or visitor, do not count.
 */
export async function readAuditReaders(
  db: Database,
  { target, days, organization = null }: { target: string; days: number; organization?: string | null },
): Promise<AuditReader[]> {
  const named = [1, 2, 3].map(
    (n) => sql`SELECT a.credential_id, a.person_id, a.outcome, a.time FROM gateway.audit a
      WHERE ${raw(`a.targets[${n}]`)} = ${target} AND a.time >= now() - ${days}::integer * interval '1 day'`,
  );
  return db.query<AuditReader>(sql`
    WITH r AS MATERIALIZED (
      SELECT a.credential_id, a.person_id, (count(*) FILTER (WHERE a.outcome = 'ok'))::integer AS calls,
             (count(*) FILTER (WHERE a.outcome <> 'ok'))::integer AS failed, min(a.time) AS first_at, max(a.time) AS last_at
        FROM (${join(named, ' UNION ALL ')}) a GROUP BY 1, 2)
    SELECT o.public_id AS organization_id, p.id AS app_id, p.name AS app_name, r.credential_id, r.person_id, h.email,
           r.calls, r.failed, r.first_at, r.last_at
      FROM r
      LEFT JOIN gateway.credential c ON c.id = r.credential_id
      LEFT JOIN gateway.installation i ON i.id = c.installation_id
      LEFT JOIN gateway.app p ON p.id = i.app_id
      LEFT JOIN gateway.person h ON h.id = r.person_id
      LEFT JOIN platform.organization o ON o.tenant = coalesce(p.tenant, h.tenant)
     WHERE ${organization}::text IS NULL OR o.public_id = ${organization}
     ORDER BY r.calls DESC, r.last_at DESC, r.credential_id, r.person_id`);
}
