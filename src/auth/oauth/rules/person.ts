import { type Person, personOf } from '../../../store/sign-in/sessions.ts';
import { digestOf, wellFormed } from '../../tokens.ts';
import type { OAuthContext, Rule } from '../context.ts';

/** The gateway must show the sign-in page, because no signed-in person may give this consent. */
export class SignInNeeded extends Error {
  override readonly name = 'SignInNeeded';
}

/** Requires a signed-in person who is an enabled owner or admin of the app's organization. Nobody else may consent. */
export const person: Rule = async (context) => {
  const found = await sessionPerson(context);
  if (!found || found.tenant !== context.the('client').tenant) throw new SignInNeeded();
  context.learn('person', found);
};

/** The signed-in person. `undefined` without a session, or when the person is no longer owner or admin. */
export async function sessionPerson({ request, services }: OAuthContext): Promise<Person | undefined> {
  const { session } = request;
  return session !== undefined && wellFormed(session) ? personOf(services.db, digestOf(session)) : undefined;
}
