import type { OAuthRequest, Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';

export const signInForm: Rule = ({ request }) => only(request, ['email', 'password']);

export const emptyForm: Rule = ({ request }) => only(request, []);

export function only({ form }: OAuthRequest, names: readonly string[]): void {
  const fields = [...(form ?? [])];
  const strange = fields.some(([name, values]) => !names.includes(name) || values.length > 1);
  if (!form || strange) throw new OAuthError('invalid_request', { about: 'form' });
}
