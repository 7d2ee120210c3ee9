import { personOf } from '../../../store/sign-in/sessions.ts';
import { digestOf, wellFormed } from '../../tokens.ts';
import type { Rule } from '../context.ts';

/** Nobody who may consent is signed in: the page for that comes next. */
export class SignInNeeded extends Error {
  override readonly name = 'SignInNeeded';
}

/** An owner or admin, not disabled, of the organization whose app asks is signed in; nobody else may consent. */
export const person: Rule = async (context) => {
  const { request, services } = context;
  const proper = request.session !== undefined && wellFormed(request.session);
  const found = proper ? await personOf(services.db, digestOf(request.session ?? '')) : undefined;
  if (!found || found.tenant !== context.the('client').tenant) throw new SignInNeeded();
  context.learn('person', found);
};
