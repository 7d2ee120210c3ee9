import type { AuditFilter } from '../../core/audit-records.ts';
import { type AuditReader, readAuditPage, readAuditReaders } from '../../store/administration/audit-records.ts';
import { organizationOf } from '../../store/administration/organization.ts';
import { type AuditPlace, type AuditRow, recordOf } from '../../store/calls/audit-records.ts';
import { listCredentials } from './administration.ts';
import type { Desk } from './desk.ts';

export { ocsfOf } from '../audit-ocsf.ts';
export type { AuditPlace, AuditReader, AuditRow };
export { recordOf };

type Search = Omit<AuditFilter, 'organization'>;

interface Found {
  readonly rows: readonly AuditRow[];
  /** Where the search goes on. Undefined: all records have been looked at. */
  readonly next: AuditPlace | undefined;
}

/** Statements of one search. Each looks at a bounded number of records, whether or not they match. */
const STATEMENTS = 5;

/**
 * The newest audit records of the organization that match, at most `limit` of them. Undefined if the administrator has
 * just lost the role. With rare matches, a page can have fewer records and still a place where the search goes on.
 */
export async function searchAudit(
  desk: Desk,
  search: Search,
  { limit, after }: { readonly limit: number; readonly after: AuditPlace | undefined },
): Promise<Found | undefined> {
  const organization = await organizationOf(desk.db, desk.by);
  if (organization === undefined) return undefined;
  const filter = { ...(await narrowed(desk, search)), organization };
  const rows: AuditRow[] = [];
  let next = after;
  for (let n = 0; n < STATEMENTS; n++) {
    const page = await readAuditPage(desk.db, filter, { limit: limit - rows.length, after: next });
    rows.push(...page.rows);
    next = page.next;
    if (next === undefined || rows.length >= limit) break;
  }
  return { rows, next };
}

/** An app with one credential is searched by the credential, because its records then have an index. */
async function narrowed(desk: Desk, search: Search): Promise<Search> {
  if (search.app === undefined || search.credential !== undefined) return search;
  const { rows, total } = await listCredentials(desk, { app: search.app }, { limit: 1, offset: 0 });
  return total === 1 ? { ...search, credential: rows[0]?.id } : search;
}

/** Who has read a record in the last days. Undefined if the administrator has just lost the role. */
export async function readersOf(desk: Desk, target: string, days: number): Promise<readonly AuditReader[] | undefined> {
  const organization = await organizationOf(desk.db, desk.by);
  return organization === undefined ? undefined : readAuditReaders(desk.db, { target, days, organization });
}
