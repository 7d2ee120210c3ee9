import type { Endpoint, Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';

interface Known {
  readonly required: readonly string[];
  readonly optional?: readonly string[];
  readonly repeatable?: readonly string[];
}

const AUTHORIZE: Known = {
  required: [
    'response_type',
    'client_id',
    'redirect_uri',
    'resource',
    'scope',
    'state',
    'code_challenge',
    'code_challenge_method',
  ],
};
const PARAMETERS: Readonly<Record<Endpoint, Known>> = {
  authorize: AUTHORIZE,
  sign_in: AUTHORIZE,
  sign_out: AUTHORIZE,
  identity: AUTHORIZE,
  consent: AUTHORIZE,
  token: { required: ['grant_type'] },
  // Every token request requires `resource`, but this table lists `resource` as optional. Another rule reports a
  // missing `resource` as invalid_target (OT-11).
  client_credentials: { required: ['grant_type'], optional: ['resource', 'scope'], repeatable: ['website_id'] },
  authorization_code: { required: ['grant_type', 'code', 'redirect_uri', 'code_verifier'], optional: ['resource'] },
  refresh_token: { required: ['grant_type', 'refresh_token'], optional: ['resource', 'scope'] },
  revoke: { required: ['token'], optional: ['token_type_hint'] },
};

/**
 * Refuses unknown parameters, repeated parameters, and required parameters without a value. RFC 6749 ignores unknown
 * parameters. The gateway refuses unknown parameters, because a client secret in the body must be refused too.
 */
export const parameters: Rule = ({ endpoint, request }) => {
  const { required, optional = [], repeatable = [] } = PARAMETERS[endpoint];
  if (!request.parameters) throw new OAuthError('invalid_request');
  for (const [name, values] of request.parameters) {
    if (repeatable.includes(name)) continue;
    // The error does not name the unknown parameter, because the caller chose the name.
    if (!required.includes(name) && !optional.includes(name)) throw new OAuthError('invalid_request');
    if (values.length > 1) throw new OAuthError('invalid_request', { about: name });
  }
  const missing = required.find((name) => !request.parameters?.get(name)?.[0]);
  if (missing !== undefined) throw new OAuthError('invalid_request', { about: missing });
};
