import { loadOffer } from '../../../store/sign-in/hosted.ts';
import { type Organization, organizationsOf } from '../../memberships.ts';
import type { Rule } from '../context.ts';
import { SignInNeeded, sessionPerson } from './person.ts';

/** The gateway must ask the person for the organization, because the person belongs to several. */
export class OrganizationNeeded extends Error {
  override readonly name = 'OrganizationNeeded';

  constructor(readonly organizations: readonly Organization[]) {
    super();
  }
}

/**
 * Requires a signed-in person who is an enabled owner or admin of any organization. The person can grant the client
 * access to the websites of this organization.
 */
export const hostedPerson: Rule = async (context) => {
  const person = await sessionPerson(context);
  if (!person) {
    const organizations = await organizationsOf(context.services.db, context.request.session);
    if (organizations.length > 0) throw new OrganizationNeeded(organizations);
  }
  const offer = person && (await loadOffer(context.services.db, person.tenant));
  if (!person || !offer) throw new SignInNeeded();
  context.learn('person', person);
  context.learn('offer', offer);
};
