import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { single } from '../parameters.ts';

const STATE = /^[ -~]{16,1024}$/;
const FORM = '16 to 1024 printable ASCII characters';

/**
 * Reads a `state` of 16 to 1024 printable ASCII characters. This rule runs early, so that the errors of later rules can
 * return the state (RFC 6749, section 4.1.2.1).
 */
export const state: Rule = (context) => {
  const { parameters } = context.request;
  const value = parameters && single(parameters, 'state');
  if (value !== undefined && STATE.test(value)) context.learn('state', value);
};

export const stateRequired: Rule = (context) => {
  if (context.known('state') === undefined) throw new OAuthError('invalid_request', { about: 'state', form: FORM });
};
