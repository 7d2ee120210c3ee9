import { loadOffer } from '../../../store/sign-in/hosted.ts';
import type { Rule } from '../context.ts';
import { SignInNeeded, sessionPerson } from './person.ts';

/**
 * Requires a signed-in person who is an enabled owner or admin of any organization. The person can grant the client
 * access to the websites of this organization.
 */
export const hostedPerson: Rule = async (context) => {
  const person = await sessionPerson(context);
  const offer = person && (await loadOffer(context.services.db, person.tenant));
  if (!person || !offer) throw new SignInNeeded();
  context.learn('person', person);
  context.learn('offer', offer);
};
