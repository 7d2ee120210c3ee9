import { personOf } from '../../../store/sign-in/sessions.ts';
import { digestOf, wellFormed } from '../../tokens.ts';
import type { Rule } from '../context.ts';

/** The gateway must show the sign-in page, because no signed-in person may give this consent. */
export class SignInNeeded extends Error {
  override readonly name = 'SignInNeeded';
}

/** Requires a signed-in person who is an enabled owner or admin of the app's organization. Nobody else may consent. */
export const person: Rule = async (context) => {
  const { request, services } = context;
  const proper = request.session !== undefined && wellFormed(request.session);
  const found = proper ? await personOf(services.db, digestOf(request.session ?? '')) : undefined;
  if (!found || found.tenant !== context.the('client').tenant) throw new SignInNeeded();
  context.learn('person', found);
};
