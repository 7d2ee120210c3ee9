import { mayRedirect } from '../clients/client.js';
import { OAuthError } from '../errors.js';
import { single } from '../parameters.js';
/**
 * Requires a `redirect_uri` of the client. Until this rule has passed, the URI is not trusted, so no refusal may
 * redirect to it.
 */
export const redirectUri = (context) => {
    const { parameters } = context.request;
    const uri = parameters && single(parameters, 'redirect_uri');
    if (uri === undefined || !mayRedirect(context.the('client'), uri)) {
        throw new OAuthError('invalid_request', { about: 'client_id or redirect_uri' });
    }
    context.learn('redirectUri', uri);
};
//# sourceMappingURL=redirect-uri.js.map