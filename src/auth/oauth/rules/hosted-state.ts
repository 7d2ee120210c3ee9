import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';

const STATE = /^[ -~]{1,2048}$/;

/** Reads the optional `state`. PKCE protects a client that sends no state (RFC 9700, section 2.1.1). */
export const hostedState: Rule = (context) => {
  const values = context.request.parameters?.get('state') ?? [];
  const [value = ''] = values;
  if (value === '' && values.length < 2) return;
  if (values.length > 1 || !STATE.test(value)) throw new OAuthError('invalid_request', { about: 'state' });
  context.learn('state', value);
};
