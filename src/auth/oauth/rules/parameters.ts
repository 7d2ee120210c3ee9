import { type Endpoint, PAGES, type Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';

interface Known {
  readonly required: readonly string[];
  /** Parameters that only an installed client must send. */
  readonly installed?: readonly string[];
  readonly optional?: readonly string[];
  readonly repeatable?: readonly string[];
}

const AUTHORIZE: Known = {
  required: ['response_type', 'client_id', 'redirect_uri', 'code_challenge', 'code_challenge_method'],
  installed: ['resource', 'scope', 'state'],
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
  // OAuth 2.1 has no `redirect_uri` here, because the code challenge binds the code to its request.
  authorization_code: {
    required: ['grant_type', 'code', 'code_verifier'],
    installed: ['redirect_uri'],
    optional: ['resource', 'client_id'],
  },
  refresh_token: { required: ['grant_type', 'refresh_token'], optional: ['resource', 'scope', 'client_id'] },
  revoke: { required: ['token'], optional: ['token_type_hint', 'client_id'] },
};
/** Parameters that a client by URL cannot send twice, even to an endpoint that has no use for them. */
const ONCE = ['resource', 'scope', 'state', 'client_id', 'token_type_hint'];

/**
 * Refuses repeated parameters, and required parameters without a value. The authorization endpoint also refuses unknown
 * parameters of an installed client. All other unknown parameters are ignored, because common libraries send some (RFC
 * 6749, sections 3.1 and 3.2).
 */
export const parameters: Rule = ({ endpoint, request, kind }) => {
  const { required, installed = [], optional = [], repeatable = [] } = PARAMETERS[endpoint];
  if (!request.parameters) throw new OAuthError('invalid_request');
  const known = [...required, ...installed, ...optional];
  for (const [name, values] of request.parameters) {
    if (repeatable.includes(name)) continue;
    // The error does not name the unknown parameter, because the caller chose the name.
    // An installed client that limits a refresh to websites must not get a token for all of them. A client by URL
    // chooses no websites: its person chose them.
    const strict = kind === 'installed' && (PAGES.includes(endpoint) || name === 'website_id');
    if (strict && !known.includes(name)) throw new OAuthError('invalid_request');
    const once = known.includes(name) || (kind === 'by_url' && ONCE.includes(name));
    if (values.length > 1 && once) {
      throw new OAuthError('invalid_request', { about: name });
    }
  }
  const needed = kind === 'installed' ? [...required, ...installed] : required;
  const missing = needed.find((name) => !request.parameters?.get(name)?.[0]);
  if (missing !== undefined) throw new OAuthError('invalid_request', { about: missing });
};
