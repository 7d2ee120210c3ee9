import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { single } from '../parameters.ts';

/**
 * Requires a `redirect_uri` that equals one of the credential's callbacks exactly (RFC 9700, section 2.1). Until this
 * rule has passed, the URI is not trusted, so no refusal may redirect to it.
 */
export const redirectUri: Rule = (context) => {
  const { parameters } = context.request;
  const uri = parameters && single(parameters, 'redirect_uri');
  if (uri === undefined || !context.the('client').callbacks.includes(uri)) {
    throw new OAuthError('invalid_request', { about: 'client_id or redirect_uri' });
  }
  context.learn('redirectUri', uri);
};
