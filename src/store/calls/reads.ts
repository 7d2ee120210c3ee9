import type { SubscriptionReads } from '../../core/events.ts';
import type { Reads } from '../../core/reads.ts';
import type { Database } from '../driver/postgres.ts';
import type { Replica } from '../open/replica.ts';
import { readFileBytes } from './files.ts';
import { readHealth } from './health.ts';
import { readOperation } from './operations.ts';
import { readPage } from './page.ts';
import { type ReadSession, readOne, SessionOn } from './read.ts';
import { readReport } from './report.ts';
import { readWebsites } from './websites.ts';

/** Binds every read to one call's authority and website. Slow reads use `slow`; reads that may be old use `replica`. */
export function openReads(
  session: ReadSession,
  slow: Database,
  replica?: Pick<Replica, 'read'>,
): Omit<Reads, keyof SubscriptionReads> {
  return {
    one: (view, id, options) => readOne(session, view, id, options),
    page: (view, request) =>
      readPage(request.search ? new SessionOn(session, slow, session.website) : session, view, request),
    fileBytes: (file, options) => readFileBytes(session, file, options),
    websites: () => readWebsites(session),
    operation: (id) => readOperation(session, id),
    health: () => readHealth(session),
    report: (range) => readReport(session, slow, range, replica),
  };
}
