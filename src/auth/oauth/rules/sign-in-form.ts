import type { OAuthRequest, Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';

/** Requires a form with an e-mail address and a password, each at most once, and no other field. */
export const signInForm: Rule = ({ request }) => only(request, ['email', 'password']);

/** Requires a form without fields. Such a form signs a person out. */
export const emptyForm: Rule = ({ request }) => only(request, []);

function only({ form }: OAuthRequest, names: readonly string[]): void {
  const fields = [...(form ?? [])];
  const strange = fields.some(([name, values]) => !names.includes(name) || values.length > 1);
  if (!form || strange) throw new OAuthError('invalid_request', { about: 'form' });
}
