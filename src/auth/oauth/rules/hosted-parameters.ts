import type { Endpoint, Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { requirePresent } from './parameters.ts';

const AUTHORIZE = ['response_type', 'client_id', 'redirect_uri', 'code_challenge', 'code_challenge_method'];
const REQUIRED: Readonly<Record<Endpoint, readonly string[]>> = {
  authorize: AUTHORIZE,
  sign_in: AUTHORIZE,
  sign_out: AUTHORIZE,
  identity: AUTHORIZE,
  consent: AUTHORIZE,
  token: ['grant_type'],
  client_credentials: ['grant_type'],
  authorization_code: ['grant_type', 'code', 'redirect_uri', 'code_verifier'],
  refresh_token: ['grant_type', 'refresh_token'],
  revoke: ['token'],
};
/** Optional parameters that must not be repeated. Another rule reports a missing `resource` as invalid_target. */
const OPTIONAL = ['resource', 'scope', 'state', 'client_id', 'token_type_hint'];

/**
 * Refuses repeated parameters, and required parameters without a value. Ignores unknown parameters at every endpoint
 * (RFC 6749, sections 3.1 and 3.2).
 */
export const hostedParameters: Rule = ({ endpoint, request }) => {
  const required = REQUIRED[endpoint];
  if (!request.parameters) throw new OAuthError('invalid_request');
  for (const name of [...required, ...OPTIONAL]) {
    const values = request.parameters.get(name) ?? [];
    if (values.length > 1) throw new OAuthError('invalid_request', { about: name });
  }
  requirePresent(request.parameters, required);
};
