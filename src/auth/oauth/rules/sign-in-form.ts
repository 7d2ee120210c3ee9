import type { OAuthRequest, Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';

/** The form holds an e-mail address and a password, each at most once, and nothing else. */
export const signInForm: Rule = ({ request }) => only(request, ['email', 'password']);

/** To sign out there is nothing to say. */
export const emptyForm: Rule = ({ request }) => only(request, []);

function only({ form }: OAuthRequest, names: readonly string[]): void {
  const fields = [...(form ?? [])];
  const strange = fields.some(([name, values]) => !names.includes(name) || values.length > 1);
  if (!form || strange) throw new OAuthError('invalid_request', { about: 'form' });
}
