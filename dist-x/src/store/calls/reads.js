import { readAudit } from './audit-records.js';
import { readCounts } from './counts.js';
import { readCustomers } from './customers.js';
import { readFileBytes } from './files.js';
import { readHealth } from './health.js';
import { readPage } from './page.js';
import { readOne } from './read.js';
import { readReport } from './report.js';
import { readSearch } from './search.js';
import { readAuthored, readWebsites } from './websites.js';
/** The reads of records that a view describes. An app or a signed-in person can be the caller. */
export const openRecordReads = (caller, access) => ({
    one: (view, id, options) => caller.take(readOne(access, view, id, options)),
    page: (view, request) => caller.take(readPage(access, view, request)),
});
export function openReads(caller, access, slow, replica) {
    const { authority, website } = access;
    return {
        one: (view, id, options) => caller.take(readOne(access, view, id, options)),
        page: (view, request) => caller.take(readPage(request.search ? { authority, website, db: slow } : access, view, request)),
        fileBytes: (file, options) => caller.take(readFileBytes(access, file, options)),
        websites: () => caller.take(readWebsites(access)),
        authored: () => caller.take(readAuthored(access)),
        health: () => caller.take(readHealth(access)),
        search: (request) => caller.take(readSearch({ authority, website, db: slow }, request)),
        counts: (request) => caller.take(readCounts(access, slow, request)),
        customers: (request) => caller.take(readCustomers({ authority, website, db: slow }, request)),
        audit: (filter, page) => caller.take(readAudit({ authority, db: slow }, filter, page)),
        report: (range) => caller.take(readReport(access, slow, range, replica)),
    };
}
//# sourceMappingURL=reads.js.map