import { exportAudit, readAuditReaders, searchAudit, } from '../../store/administration/audit-records.js';
import { organizationOf } from '../../store/administration/organization.js';
import { isWebsite, recordOf, } from '../../store/calls/audit-records.js';
export { ocsfOf } from '../audit-ocsf.js';
export { isWebsite, recordOf };
/** The newest audit records of the organization that match. Undefined if the administrator has just lost the role. */
export async function auditOf({ db, slow, by }, search, page) {
    const organization = await organizationOf(db, by);
    return organization === undefined ? undefined : searchAudit(slow, { ...search, organization }, page);
}
/** The people for whom this process is searching for a file now. A search takes seconds, so each person has one. */
const exporting = new Set();
/** The records of one file. Undefined like `auditOf`, and `busy` while the same person waits for another file. */
export async function auditFileOf({ db, slow, by }, search, part) {
    const organization = await organizationOf(db, by);
    if (organization === undefined)
        return undefined;
    if (exporting.has(by.personId))
        return 'busy';
    exporting.add(by.personId);
    try {
        return await exportAudit(slow, { ...search, organization }, part);
    }
    finally {
        exporting.delete(by.personId);
    }
}
/** Who has read a record in the last days. Undefined if the administrator has just lost the role. */
export async function readersOf({ db, slow, by }, target, days) {
    const organization = await organizationOf(db, by);
    return organization === undefined ? undefined : readAuditReaders(slow, { target, days, organization });
}
//# sourceMappingURL=audit.js.map