import type { AuditFilter } from '../../core/audit-records.ts';
import {
  type AuditReader,
  exportAudit,
  readAuditReaders,
  searchAudit,
} from '../../store/administration/audit-records.ts';
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

/** The people for whom this process is searching for a file now. A search takes seconds, so each person has one. */
const exporting = new Set<string>();

/** The records of one file. Undefined like `auditOf`, and `busy` while the same person waits for another file. */
export async function auditFileOf(
  { db, slow, by }: AdministratorDesk,
  search: Omit<AuditFilter, 'organization'>,
  part: Parameters<typeof exportAudit>[2],
): Promise<AuditRows | 'busy' | undefined> {
  const organization = await organizationOf(db, by);
  if (organization === undefined) return undefined;
  if (exporting.has(by.personId)) return 'busy';
  exporting.add(by.personId);
  try {
    return await exportAudit(slow, { ...search, organization }, part);
  } finally {
    exporting.delete(by.personId);
  }
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
