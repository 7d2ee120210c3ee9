import { digestOf, wellFormed } from '../auth/tokens.js';
import { Failure } from '../core/failures.js';
import { parseId, RecordId } from '../core/ids.js';
import { networkOf } from '../flow/network.js';
import { RateLimit } from '../flow/rate-limit.js';
import { Caller } from '../store/calls/caller.js';
import { StaleAuthority } from '../store/calls/guard.js';
import { openRecordReads } from '../store/calls/reads.js';
import { readViewer } from '../store/sign-in/viewers.js';
import { readRecordParts } from '../views/record.js';
/** How often one person may view records. Each process counts in its own memory. */
const VIEWS = { perMinute: 60, burst: 60 };
/** No organization has the number 0. */
const NOWHERE = { tenant: '0', site: '0' };
export const isRecordId = (id) => RecordId.schema.safeParse(id).success && parseId(id) !== null;
/** Returns a function that reads a record for the person of a session. `source` is the caller's address. */
export function openRecordPages(db) {
    const views = new RateLimit(VIEWS);
    return async ({ id, session, source }) => {
        const of = parseId(id)?.website;
        if (session === undefined || !wellFormed(session) || of === undefined)
            return { state: 'signed_out' };
        const viewer = await readViewer(db, { digest: digestOf(session), website: of, network: networkOf(source) });
        if (!viewer)
            return { state: 'signed_out' };
        const { authority } = viewer;
        const retryAfter = views.wait(authority.personId);
        if (retryAfter > 0)
            return { state: 'throttled', viewer, retryAfter };
        views.failed(authority.personId);
        // Every answer without a record takes the same statements, also for a website of another organization.
        const website = viewer.website ?? { ...NOWHERE, id: of };
        const caller = new Caller(authority);
        try {
            const record = await readRecordParts(id, authority, openRecordReads(caller, { authority, website, db }));
            return { state: 'shown', viewer, record };
        }
        catch (error) {
            if (error instanceof StaleAuthority)
                return { state: 'signed_out' };
            if (error instanceof Failure && error.code === 'not_found')
                return { state: 'missing', viewer };
            throw error;
        }
    };
}
//# sourceMappingURL=record-page.js.map