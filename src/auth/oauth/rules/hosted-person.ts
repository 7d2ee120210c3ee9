import { loadOffer } from '../../../store/sign-in/hosted.ts';
import { personOf } from '../../../store/sign-in/sessions.ts';
import { digestOf, wellFormed } from '../../tokens.ts';
import type { Rule } from '../context.ts';
import { SignInNeeded } from './person.ts';

/**
 * Requires a signed-in person who is an enabled owner or admin of any organization. The person can grant the client
 * access to the websites of this organization.
 */
export const hostedPerson: Rule = async (context) => {
  const { request, services } = context;
  const proper = request.session !== undefined && wellFormed(request.session);
  const person = proper ? await personOf(services.db, digestOf(request.session ?? '')) : undefined;
  const offer = person && (await loadOffer(services.db, person.tenant));
  if (!person || !offer) throw new SignInNeeded();
  context.learn('person', person);
  context.learn('offer', offer);
};
