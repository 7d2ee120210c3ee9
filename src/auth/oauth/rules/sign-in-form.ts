import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';

/** The form holds an e-mail address and a password, each once, and nothing else. */
export const signInForm: Rule = ({ request: { form } }) => {
  const fields = [...(form ?? [])];
  const strange = fields.some(([name, values]) => !['email', 'password'].includes(name) || values.length > 1);
  if (!form || strange) throw new OAuthError('invalid_request', { about: 'form' });
};
