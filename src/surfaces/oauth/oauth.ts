import type { IdentityProvider } from '../../auth/identity-provider.ts';
import { isClientUrl } from '../../auth/oauth/clients/document.ts';
import type { Services } from '../../auth/oauth/context.ts';
import { metadataDocuments } from '../../auth/oauth/metadata.ts';
import type { ClientAddress } from '../http/client-address.ts';
import { finishIdentity, openCallbacks } from '../http/pages/identity.ts';
import { pageRoutes, type Route, routesHandler, styleRoute, textRoute } from '../http/pages/routes.ts';
import type { PageServices, Visit } from '../http/pages/visit.ts';
import type { RequestHandler } from '../http/records.ts';
import {
  leaveForIdentity,
  receiveConsent,
  receiveSignIn,
  receiveSignOut,
  showAuthorize,
  showError,
} from './authorize.ts';
import { answerToken, refuse } from './token.ts';

/** A request for a page of the authorization endpoint. */
export type OAuthVisit = Visit<Services & PageServices>;

export function oauthSurface(services: Services, source: ClientAddress, provider?: IdentityProvider): RequestHandler {
  const { baseUrl, byUrl, installed, skillScopes } = services;
  const pages = pageRoutes<Services & PageServices>({ ...services, identity: provider?.name });
  const page = (method: Route['method'], operation: string, show: (visit: OAuthVisit) => Promise<void>): Route =>
    pages(method, operation, (visit) =>
      show(visit).catch((error: unknown) => {
        visit.record.audit ??= { source: visit.wire.source };
        showError(visit, visit.refusal(error));
      }),
    );
  const token = (operation: string): Route => ({
    method: 'POST',
    operation,
    answer: (request, response, { record }, wire) => answerToken(request, response, wire, services, record),
    refuse,
  });
  const callbacks = openCallbacks();
  const tenantOf =
    (visit: OAuthVisit) =>
    async (client: string): Promise<string | null | undefined> => {
      if (isClientUrl(client)) return byUrl.believed(client) ? null : undefined;
      return (await installed.fresh(client, visit.wire.source))?.tenant;
    };
  const finish = (known: IdentityProvider) => (visit: OAuthVisit) => {
    visit.record.does = 'authentication';
    return finishIdentity(visit, { provider: known, callbacks, tenantOf: tenantOf(visit) });
  };

  const routes = new Map<string, Route>([
    ['/oauth/token', token('oauth_token')],
    ['/oauth/revoke', token('oauth_revoke')],
    ['/oauth/authorize', page('GET', 'oauth_authorize', showAuthorize)],
    ['/oauth/sign-in', page('POST', 'oauth_sign_in', receiveSignIn)],
    ['/oauth/consent', page('POST', 'oauth_consent', receiveConsent)],
    ['/oauth/sign-out', page('POST', 'oauth_sign_out', receiveSignOut)],
    ['/oauth/oauth.css', styleRoute('oauth/oauth.css')],
  ]);
  if (provider) {
    routes.set(
      '/oauth/identity',
      page('GET', 'oauth_identity', (visit) => leaveForIdentity(visit, provider)),
    );
    routes.set('/oauth/identity/callback', page('GET', 'oauth_identity', finish(provider)));
  }
  for (const [path, document] of metadataDocuments(baseUrl, { skillScopes, byUrl: byUrl.offered }))
    routes.set(path, textRoute('oauth_metadata', 'application/json', JSON.stringify(document)));
  return routesHandler('oauth', (path) => routes.get(path), services, source);
}
