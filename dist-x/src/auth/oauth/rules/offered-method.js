import { isClientUrl } from '../clients/document.js';
import { OAuthError } from '../errors.js';
import { single } from '../parameters.js';
import { credentialsOf } from './client-authentication.js';
/** The parameters of authentication methods that the gateway does not offer (RFC 6749, section 2.3.1; RFC 7521). */
const OTHERS = ['client_secret', 'client_assertion', 'client_assertion_type'];
/**
 * Refuses a client that authenticates by a method that the metadata does not name (RFC 6749, section 5.2). A client id
 * in the body is accepted if it repeats the client id of HTTP Basic (RFC 6749, section 3.2.1). A client by URL has
 * no secret, so it must not use HTTP Basic.
 */
export const offeredMethod = ({ request: { parameters, authorization } }) => {
    const repeated = parameters && single(parameters, 'client_id');
    const secret = repeated === undefined || !isClientUrl(repeated);
    if (OTHERS.some((name) => parameters?.get(name)?.some((value) => value !== ''))) {
        // Two methods in one request are a malformed request, not a wrong authentication.
        throw new OAuthError(authorization === undefined ? 'invalid_client' : 'invalid_request', { secret });
    }
    if (authorization === undefined || repeated === undefined)
        return;
    if (!secret)
        throw new OAuthError('invalid_client', { secret });
    const given = credentialsOf(authorization);
    // The next rule refuses an Authorization header that is malformed or is not HTTP Basic.
    if (given && given.id !== repeated)
        throw new OAuthError('invalid_request', { about: 'client_id' });
};
//# sourceMappingURL=offered-method.js.map