import { peopleNamed } from '../../../auth/sign-in.js';
import { networkOf } from '../../../flow/network.js';
import { RateLimit } from '../../../flow/rate-limit.js';
import { organizationOfPerson } from '../../../gateway/console/desk.js';
import { exchangeOf } from '../exchange.js';
/** A lock lasts 15 minutes. In that time it is told once for a person, and 200 times for attempts from one network. */
const LOCKS = {
    person: new RateLimit({ perMinute: 1 / 15, burst: 1 }),
    network: new RateLimit({ perMinute: 200 / 15, burst: 200 }),
};
/** Appends a record of a way in or out to the books of the person's organization. */
export async function tellPassed(visit, personId) {
    // The person is signed in already, and a one-time link is used up. So a store that fails now only costs the record.
    const organizationId = await organizationOfPerson(visit.services.db, personId).catch(() => undefined);
    if (organizationId === undefined)
        return;
    tell(visit, { organizationId, personId }, [], 'ok');
}
/**
 * Appends a record of a failed sign-in to the books of the organizations with a person of this address. Nobody has
 * proved to be the person, so the record names the person as its target. The limits of sign-ins bound these records.
 */
export function tellRefused(visit, named, outcome) {
    for (const { id, organization_id: organizationId } of named)
        tell(visit, { organizationId }, [id], outcome);
}
/** Appends one record `locked`, in place of one for each attempt that the limits refuse. */
export async function tellLocked(visit, asked) {
    const network = networkOf(visit.wire.source);
    if (LOCKS.network.wait(network) > 0)
        return;
    LOCKS.network.failed(network);
    const named = await peopleNamed(visit.services.db, asked).catch(() => []);
    const untold = named.filter(({ id }) => LOCKS.person.wait(id) === 0);
    for (const { id } of untold)
        LOCKS.person.failed(id);
    tellRefused(visit, untold, 'locked');
}
const tell = ({ request, record }, actor, targets, outcome) => exchangeOf(request)?.report({
    ...{ actor, operation: record.operation ?? 'sign_in', targets, outcome },
    ...{ status: 200, units: 0 }, // the end of the request says more (audited.ts)
});
//# sourceMappingURL=told.js.map