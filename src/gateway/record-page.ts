import { digestOf, wellFormed } from '../auth/tokens.ts';
import { Failure } from '../core/failures.ts';
import { parseId, RecordId } from '../core/ids.ts';
import { networkOf } from '../flow/network.ts';
import { RateLimit } from '../flow/rate-limit.ts';
import { Caller } from '../store/calls/caller.ts';
import { StaleAuthority } from '../store/calls/guard.ts';
import { openRecordReads } from '../store/calls/reads.ts';
import type { Database } from '../store/driver/postgres.ts';
import { readViewer, type Viewer } from '../store/sign-in/viewers.ts';
import { readRecordParts } from '../views/record.ts';

export type RecordShown = Awaited<ReturnType<typeof readRecordParts>>;
export type { Viewer } from '../store/sign-in/viewers.ts';
export type { RecordMessage } from '../views/record-parts.ts';

/** The answer for a record's page. `signed_out`: the request has no session of a person who may see records. */
export type RecordPage =
  | { readonly state: 'signed_out' }
  | { readonly state: 'throttled'; readonly viewer: Viewer; readonly retryAfter: number }
  | { readonly state: 'missing'; readonly viewer: Viewer }
  | { readonly state: 'shown'; readonly viewer: Viewer; readonly record: RecordShown };

/** How often one person may view records. Each process counts in its own memory. */
const VIEWS = { perMinute: 60, burst: 60 };
/** No organization has the number 0. */
const NOWHERE = { tenant: '0', site: '0' };

export const isRecordId = (id: string): boolean => RecordId.schema.safeParse(id).success && parseId(id) !== null;

/** Returns a function that reads a record for the person of a session. `source` is the caller's address. */
export function openRecordPages(
  db: Database,
): (asked: { id: string; session: string | undefined; source: string }) => Promise<RecordPage> {
  const views = new RateLimit(VIEWS);
  return async ({ id, session, source }) => {
    const of = parseId(id)?.website;
    if (session === undefined || !wellFormed(session) || of === undefined) return { state: 'signed_out' };
    const viewer = await readViewer(db, { digest: digestOf(session), website: of, network: networkOf(source) });
    if (!viewer) return { state: 'signed_out' };
    const { authority } = viewer;
    const retryAfter = views.wait(authority.personId);
    if (retryAfter > 0) return { state: 'throttled', viewer, retryAfter };
    views.failed(authority.personId);
    // Every answer without a record takes the same statements, also for a website of another organization.
    const website = viewer.website ?? { ...NOWHERE, id: of };
    const caller = new Caller(authority);
    try {
      const record = await readRecordParts(id, authority, openRecordReads(caller, { authority, website, db }));
      return { state: 'shown', viewer, record };
    } catch (error) {
      if (error instanceof StaleAuthority) return { state: 'signed_out' };
      if (error instanceof Failure && error.code === 'not_found') return { state: 'missing', viewer };
      throw error;
    }
  };
}
