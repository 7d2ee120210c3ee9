import { mayRedirect } from '../clients/client.ts';
import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { single } from '../parameters.ts';

/**
 * Requires a `redirect_uri` of the client. Until this rule has passed, the URI is not trusted, so no refusal may
 * redirect to it.
 */
export const redirectUri: Rule = (context) => {
  const { parameters } = context.request;
  const uri = parameters && single(parameters, 'redirect_uri');
  if (uri === undefined || !mayRedirect(context.the('client'), uri)) {
    throw new OAuthError('invalid_request', { about: 'client_id or redirect_uri' });
  }
  context.learn('redirectUri', uri);
};
