import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { single } from '../parameters.ts';

/**
 * `redirect_uri` is one of the credential's callbacks, character for character (RFC 9700, section 2.1). From here on an
 * error is told to the client; before, nobody is sent anywhere.
 */
export const redirectUri: Rule = (context) => {
  const { parameters } = context.request;
  const uri = parameters && single(parameters, 'redirect_uri');
  if (uri === undefined || !context.the('client').callbacks.includes(uri)) {
    throw new OAuthError('invalid_request', { about: 'client_id or redirect_uri' });
  }
  context.learn('redirectUri', uri);
};
