import { digestOf, wellFormed } from '../../auth/tokens.js';
import { networkOf } from '../../flow/network.js';
import { RateLimit } from '../../flow/rate-limit.js';
import { recording } from '../../store/audit/commands.js';
import { readAdministrator } from '../../store/sign-in/administrators.js';
export { organizationOfPerson } from '../../store/sign-in/administrators.js';
/**
 * The same desk for one change, whose audit record is in the transaction of the change. `draftOf` gets the ids that a
 * statement names, without the person's own.
 */
export const recordingDesk = (desk, draftOf) => ({
    ...desk,
    db: recording(desk.db, (ids) => draftOf(ids.filter((id) => id !== desk.by.personId))),
    recorded: { db: desk.db, draftOf: (call) => draftOf([], call) },
});
/** How often one person may ask for a page of the console. Each process counts in its own memory. */
const ASKED = { perMinute: 120, burst: 60 };
/**
 * Returns a function that finds the administrator of a session. `source` is the caller's address. A second look in the
 * same request does not count as a page.
 */
export function openDesks({ db, slow }, tools) {
    const asked = new RateLimit(ASKED);
    return async ({ session, source }, counts = true) => {
        if (session === undefined || !wellFormed(session))
            return { state: 'signed_out' };
        const digest = digestOf(session);
        const person = await readAdministrator(db, { digest, network: networkOf(source) });
        if (!person)
            return { state: 'signed_out' };
        const retryAfter = counts ? asked.wait(person.id) : 0;
        if (retryAfter > 0)
            return { state: 'throttled', retryAfter };
        if (counts)
            asked.failed(person.id);
        return {
            state: 'entered',
            desk: { db, slow, tools, by: { digest, personId: person.id, tenant: person.tenant } },
            person,
        };
    };
}
//# sourceMappingURL=desk.js.map