import { isLoopback } from '../../auth/oauth/clients/document.js';
import { durationsUpTo } from '../../auth/oauth/durations.js';
import { ACCESS_MINUTES, CONSENT_HOURS } from '../../auth/oauth/grants.js';
import { csrfToken } from '../../auth/oauth/rules/csrf.js';
import { DATA_ACCESS } from '../../core/scopes.js';
import { organizationsPage, signInPage } from '../http/pages/views.js';
import { consentPage } from './pages/consent.js';
const host = (context) => new URL(context.the('redirectUri')).host;
export function showSignIn(visit, context, status, given, headers = {}) {
    const { identity } = visit.services;
    const client = context.the('client');
    const html = signInPage({
        action: `/oauth/sign-in?${visit.query}`,
        ...(client.kind === 'by_url' ? { client } : { organization: client.organization, app: client.name }),
        redirectHost: host(context),
        ...given,
        ...(identity !== undefined && { identity: { action: `/oauth/identity?${visit.query}`, name: identity } }),
    });
    visit.page(status, html, context.the('redirectUri'), headers);
}
export function showOrganizations(visit, context, organizations) {
    const client = context.the('client');
    const html = organizationsPage({
        action: `/oauth/sign-in?${visit.query}`,
        signOut: `/oauth/sign-out?${visit.query}`,
        ...(client.kind === 'by_url' && { client }),
        organizations,
    });
    visit.page(200, html, context.the('redirectUri'));
}
export function showConsent(visit, context, problem) {
    const { organization, websites } = context.the('offer');
    const choice = context.known('choice');
    const html = consentPage({
        action: `/oauth/consent?${visit.query}`,
        signOut: `/oauth/sign-out?${visit.query}`,
        csrf: csrfToken(context),
        organization,
        app: context.the('client').name,
        redirectHost: host(context),
        person: context.the('person').email,
        resource: context.the('resource'),
        minutes: ACCESS_MINUTES,
        hours: CONSENT_HOURS,
        scopes: context.the('scopes'),
        websites,
        ...ofKind(context),
        ...(choice && {
            chosen: {
                scopes: choice.scopes,
                websites: choice.websites.map(({ id }) => id),
                renewal: choice.renewable,
            },
        }),
        ...(problem !== undefined && { problem }),
    });
    visit.page(problem === undefined ? 200 : 400, html, context.the('redirectUri'));
}
/** What the page shows and asks for one kind of client only. */
function ofKind(context) {
    const client = context.the('client');
    if (client.kind === 'installed') {
        const { environment, dataAccess, restricted } = client;
        return { environment, dataAccess, restricted };
    }
    const choice = context.known('choice');
    const byUrl = {
        host: client.host,
        loopback: isLoopback(new URL(context.the('redirectUri'))),
        durations: durationsUpTo(context.services.byUrl.longest),
        dataAccess: choice?.dataAccess ?? [],
        duration: choice?.duration?.name,
    };
    return { environment: 'live', dataAccess: DATA_ACCESS, restricted: false, byUrl };
}
//# sourceMappingURL=show.js.map