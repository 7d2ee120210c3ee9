import { type Endpoint, PAGES, type Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import type { Parameters } from '../parameters.ts';

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
  client_credentials: {
    required: ['grant_type'],
    optional: ['resource', 'scope', 'client_id'],
    repeatable: ['website_id'],
  },
  authorization_code: {
    required: ['grant_type', 'code', 'redirect_uri', 'code_verifier'],
    optional: ['resource', 'client_id'],
  },
  refresh_token: { required: ['grant_type', 'refresh_token'], optional: ['resource', 'scope', 'client_id'] },
  revoke: { required: ['token'], optional: ['token_type_hint', 'client_id'] },
};

/**
 * Refuses repeated parameters, and required parameters without a value. The authorization endpoint also refuses unknown
 * parameters. The token and the revocation endpoint ignore unknown parameters, because common libraries send some (RFC
 * 6749, section 3.2).
 */
export const parameters: Rule = ({ endpoint, request }) => {
  const { required, optional = [], repeatable = [] } = PARAMETERS[endpoint];
  if (!request.parameters) throw new OAuthError('invalid_request');
  for (const [name, values] of request.parameters) {
    if (repeatable.includes(name)) continue;
    if (!required.includes(name) && !optional.includes(name)) {
      // The error does not name the unknown parameter, because the caller chose the name.
      // A client that limits a refresh to websites must not get a token for all of them.
      if (PAGES.includes(endpoint) || name === 'website_id') throw new OAuthError('invalid_request');
      continue;
    }
    if (values.length > 1) throw new OAuthError('invalid_request', { about: name });
  }
  requirePresent(request.parameters, required);
};

export function requirePresent(given: Parameters, required: readonly string[]): void {
  const missing = required.find((name) => !given.get(name)?.[0]);
  if (missing !== undefined) throw new OAuthError('invalid_request', { about: missing });
}
