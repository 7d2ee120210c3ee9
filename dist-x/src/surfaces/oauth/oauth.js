import { isClientUrl } from '../../auth/oauth/clients/document.js';
import { metadataDocuments } from '../../auth/oauth/metadata.js';
import { finishIdentity } from '../http/pages/identity.js';
import { pageRoutes, routesHandler, styleRoute, textRoute } from '../http/pages/routes.js';
import { leaveForIdentity, receiveConsent, receiveSignIn, receiveSignOut, showAuthorize, showError, } from './authorize.js';
import { answerToken, refuse } from './token.js';
export function oauthSurface(services, source, provider) {
    const { baseUrl, byUrl, installed, skillScopes } = services;
    const pages = pageRoutes({ ...services, identity: provider?.name });
    const page = (method, operation, show) => pages(method, operation, (visit) => show(visit).catch((error) => {
        visit.record.audit ??= { source: visit.wire.source };
        showError(visit, visit.refusal(error));
    }));
    const token = (operation) => ({
        method: 'POST',
        operation,
        answer: (request, response, { record }, wire) => answerToken(request, response, wire, services, record),
        refuse,
    });
    const finish = (known) => (visit) => {
        visit.record.does = 'authentication';
        return finishIdentity(visit, known, async (client) => {
            if (isClientUrl(client))
                return byUrl.believed(client) ? null : undefined;
            return (await installed.fresh(client, visit.wire.source))?.tenant;
        });
    };
    const routes = new Map([
        ['/oauth/token', token('oauth_token')],
        ['/oauth/revoke', token('oauth_revoke')],
        ['/oauth/authorize', page('GET', 'oauth_authorize', showAuthorize)],
        ['/oauth/sign-in', page('POST', 'oauth_sign_in', receiveSignIn)],
        ['/oauth/consent', page('POST', 'oauth_consent', receiveConsent)],
        ['/oauth/sign-out', page('POST', 'oauth_sign_out', receiveSignOut)],
        ['/oauth/oauth.css', styleRoute('oauth/oauth.css')],
    ]);
    if (provider) {
        routes.set('/oauth/identity', page('GET', 'oauth_identity', (visit) => leaveForIdentity(visit, provider)));
        routes.set('/oauth/identity/callback', page('GET', 'oauth_identity', finish(provider)));
    }
    for (const [path, document] of metadataDocuments(baseUrl, { skillScopes, byUrl: byUrl.offered }))
        routes.set(path, textRoute('oauth_metadata', 'application/json', JSON.stringify(document)));
    return routesHandler('oauth', (path) => routes.get(path), services, source);
}
//# sourceMappingURL=oauth.js.map