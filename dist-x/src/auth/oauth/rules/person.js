import { loadOffer } from '../../../store/sign-in/clients.js';
import { personOf } from '../../../store/sign-in/sessions.js';
import { organizationsOf } from '../../memberships.js';
import { digestOf, wellFormed } from '../../tokens.js';
/** The gateway must show the sign-in page, because no signed-in person may give this consent. */
export class SignInNeeded extends Error {
    name = 'SignInNeeded';
}
/** The gateway must ask the person for the organization, because the person belongs to several. */
export class OrganizationNeeded extends Error {
    organizations;
    name = 'OrganizationNeeded';
    constructor(organizations) {
        super();
        this.organizations = organizations;
    }
}
/**
 * Requires a signed-in person who is an enabled owner or admin. Nobody else may consent. For an installed client, the
 * person must belong to the organization of the client. To a client by URL, the person can grant access to the websites
 * of the own organization.
 */
export const person = async (context) => {
    const { db } = context.services;
    const client = context.the('client');
    const found = await sessionPerson(context);
    if (!found && client.kind === 'by_url') {
        const organizations = await organizationsOf(db, context.request.session);
        if (organizations.length > 0)
            throw new OrganizationNeeded(organizations);
    }
    if (!found || (client.kind === 'installed' && client.tenant !== found.tenant))
        throw new SignInNeeded();
    const offer = client.kind === 'installed' ? client : await loadOffer(db, found.tenant);
    if (!offer)
        throw new SignInNeeded();
    context.learn('person', found);
    context.learn('offer', offer);
};
/** The signed-in person. `undefined` without a session, or when the person is no longer owner or admin. */
export async function sessionPerson({ request, services }) {
    const { session } = request;
    return session !== undefined && wellFormed(session) ? personOf(services.db, digestOf(session)) : undefined;
}
//# sourceMappingURL=person.js.map