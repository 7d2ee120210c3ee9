import type { AuditFilter } from '../../core/audit-records.ts';
import { type AuditReader, readAuditReaders, searchAudit } from '../../store/administration/audit-records.ts';
import { organizationOf } from '../../store/administration/organization.ts';
import {
  type AuditPlace,
  type AuditRow,
  type AuditRows,
  isWebsite,
  recordOf,
} from '../../store/calls/audit-records.ts';
import type { AdministratorDesk } from './desk.ts';

export { ocsfOf } from '../audit-ocsf.ts';
export type { AuditPlace, AuditReader, AuditRow, AuditRows };
export { isWebsite, recordOf };

/** The newest audit records of the organization that match. Undefined if the administrator has just lost the role. */
export async function auditOf(
  { db, slow, by }: AdministratorDesk,
  search: Omit<AuditFilter, 'organization'>,
  page: Parameters<typeof searchAudit>[2],
): Promise<AuditRows | undefined> {
  const organization = await organizationOf(db, by);
  return organization === undefined ? undefined : searchAudit(slow, { ...search, organization }, page);
}

/** Who has read a record in the last days. Undefined if the administrator has just lost the role. */
export async function readersOf(
  { db, slow, by }: AdministratorDesk,
  target: string,
  days: number,
): Promise<readonly AuditReader[] | undefined> {
  const organization = await organizationOf(db, by);
  return organization === undefined ? undefined : readAuditReaders(slow, { target, days, organization });
}
