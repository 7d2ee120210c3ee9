import type { Actor } from '../../core/authority.ts';
import type { SubscriptionReads } from '../../core/events.ts';
import type { Reads } from '../../core/reads.ts';
import type { Replica } from '../driver/lineage.ts';
import type { Database } from '../driver/postgres.ts';
import { readAudit } from './audit-records.ts';
import type { Caller } from './caller.ts';
import { readCounts } from './counts.ts';
import { readCustomers } from './customers.ts';
import { readFileBytes } from './files.ts';
import { readHealth } from './health.ts';
import { readPage } from './page.ts';
import { type RecordAccess, readOne, type WebsiteAccess } from './read.ts';
import { readReport } from './report.ts';
import { readSearch } from './search.ts';
import { readAuthored, readWebsites } from './websites.ts';

/** The reads of records that a view describes. An app or a signed-in person can be the caller. */
export const openRecordReads = (caller: Caller<Actor>, access: RecordAccess): Pick<Reads, 'one' | 'page'> => ({
  one: (view, id, options) => caller.take(readOne(access, view, id, options)),
  page: (view, request) => caller.take(readPage(access, view, request)),
});

export function openReads(
  caller: Caller,
  access: WebsiteAccess,
  slow: Database,
  replica?: Pick<Replica, 'read'>,
): Omit<Reads, keyof SubscriptionReads | 'operation'> {
  const { authority, website } = access;
  return {
    one: (view, id, options) => caller.take(readOne(access, view, id, options)),
    page: (view, request) =>
      caller.take(readPage(request.search ? { authority, website, db: slow } : access, view, request)),
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
