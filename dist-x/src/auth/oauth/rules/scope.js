import { SCOPES } from '../../../core/scopes.js';
import { OAuthError } from '../errors.js';
import { scopesOf } from '../metadata.js';
/**
 * Parses scopes that are separated by single spaces. From an installed client, every scope must be known and must appear
 * only once (RFC 6749, section 3.3). A client by URL also sends scopes of other protocols, such as `offline_access`.
 * They are ignored, and a request without a known scope names no scope.
 */
function askedScopes({ request, kind }) {
    const names = request.parameters?.get('scope')?.[0]?.split(' ');
    if (names === undefined)
        return undefined;
    const scopes = SCOPES.filter((scope) => names.includes(scope));
    if (kind === 'by_url')
        return scopes.length > 0 ? scopes : undefined;
    if (scopes.length !== names.length)
        throw new OAuthError('invalid_scope', { about: 'scope' });
    return scopes;
}
/**
 * Reads the scopes for which the client asks. An installed client must hold every scope. A request without `scope` asks
 * for all scopes of the credential. A client by URL holds none: the person chooses among the scopes, so asking for more
 * gives nothing. Without `scope`, it asks for all scopes that the metadata of the interface names.
 */
export const scope = (context) => {
    const client = context.the('client');
    const asked = askedScopes(context);
    if (client.kind === 'installed') {
        const beyond = asked?.some((one) => !client.scopes.includes(one));
        if (beyond)
            throw new OAuthError('invalid_scope', { about: 'scope' });
        context.learn('scopes', asked ?? client.scopes);
    }
    else
        context.learn('scopes', asked ?? scopesOf(context.the('resource'), context.services.skillScopes));
};
/** Reads the scopes to which a refresh is narrowed. Without a scope, the refresh asks for all scopes of the consent. */
export const narrowerScope = (context) => {
    const asked = askedScopes(context);
    if (asked)
        context.learn('scopes', asked);
};
//# sourceMappingURL=scope.js.map