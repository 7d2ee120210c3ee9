import type { AuditFilter } from '../../core/audit-records.ts';
import {
  type AuditReader,
  exportAudit,
  readAuditReaders,
  searchAudit,
} from '../../store/administration/audit-records.ts';
import {
  type AuditPlace,
  type AuditRow,
  type AuditRows,
  isWebsite,
  recordOf,
} from '../../store/calls/audit-records.ts';
import type { AdministratorDesk } from './desk.ts';
import { aboutOrganization } from './organization.ts';

export { ocsfOf } from '../audit-ocsf.ts';
export type { AuditPlace, AuditReader, AuditRow, AuditRows };
export { isWebsite, recordOf };

/** The newest audit records of the organization that match. Undefined if the administrator has just lost the role. */
export const auditOf = (
  desk: AdministratorDesk,
  search: Omit<AuditFilter, 'organization'>,
  page: Parameters<typeof searchAudit>[2],
): Promise<AuditRows | undefined> =>
  aboutOrganization(desk, (organization) => searchAudit(desk.slow, { ...search, organization }, page));

/** The people for whom this process is searching for a file now. A search takes seconds, so each person has one. */
const exporting = new Set<string>();

/** The records of one file. Undefined like `auditOf`, and `busy` while the same person waits for another file. */
export const auditFileOf = (
  desk: AdministratorDesk,
  search: Omit<AuditFilter, 'organization'>,
  part: Parameters<typeof exportAudit>[2],
): Promise<AuditRows | 'busy' | undefined> =>
  aboutOrganization(desk, async (organization) => {
    const { personId } = desk.by;
    if (exporting.has(personId)) return 'busy';
    exporting.add(personId);
    try {
      return await exportAudit(desk.slow, { ...search, organization }, part);
    } finally {
      exporting.delete(personId);
    }
  });

/** Who has read a record in the last days. Undefined if the administrator has just lost the role. */
export const readersOf = (
  desk: AdministratorDesk,
  target: string,
  days: number,
): Promise<readonly AuditReader[] | undefined> =>
  aboutOrganization(desk, (organization) => readAuditReaders(desk.slow, { target, days, organization }));
