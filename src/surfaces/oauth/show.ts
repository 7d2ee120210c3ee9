import type { OutgoingHttpHeaders } from 'node:http';
import type { OAuthContext } from '../../auth/oauth/context.ts';
import { ACCESS_MINUTES, CONSENT_HOURS } from '../../auth/oauth/grants.ts';
import { isLoopback } from '../../auth/oauth/hosted/document.ts';
import { durationsUpTo } from '../../auth/oauth/hosted/durations.ts';
import { fingerprint } from '../../auth/oauth/hosted/page.ts';
import { csrfToken } from '../../auth/oauth/rules/csrf.ts';
import { DATA_ACCESS } from '../../core/scopes.ts';
import { type ConsentView, consentPage, type OrganizationsView, organizationsPage, signInPage } from './pages/views.ts';
import type { Given } from './sign-in.ts';
import type { Visit } from './visit.ts';

const host = (context: OAuthContext): string => new URL(context.the('redirectUri')).host;

export function showSignIn(
  visit: Visit,
  context: OAuthContext,
  status: number,
  given: Given,
  headers: OutgoingHttpHeaders = {},
): void {
  const { identity } = visit.services;
  const who =
    context.kind === 'hosted'
      ? { client: context.the('hosted') }
      : { organization: context.the('client').organization, app: context.the('client').app };
  const html = signInPage({
    action: `/oauth/sign-in?${visit.query}`,
    ...who,
    redirectHost: host(context),
    ...given,
    ...(identity !== undefined && { identity: { action: `/oauth/identity?${visit.query}`, name: identity } }),
  });
  visit.page(status, html, context.the('redirectUri'), headers);
}

export function showOrganizations(
  visit: Visit,
  context: OAuthContext,
  organizations: OrganizationsView['organizations'],
): void {
  const html = organizationsPage({
    action: `/oauth/sign-in?${visit.query}`,
    signOut: `/oauth/sign-out?${visit.query}`,
    client: context.the('hosted'),
    organizations,
  });
  visit.page(200, html, context.the('redirectUri'));
}

export function showConsent(visit: Visit, context: OAuthContext, problem?: string): void {
  const html = consentPage({
    action: `/oauth/consent?${visit.query}`,
    signOut: `/oauth/sign-out?${visit.query}`,
    redirectHost: host(context),
    person: context.the('person').email,
    resource: context.the('resource'),
    minutes: ACCESS_MINUTES,
    scopes: context.the('scopes'),
    ...(context.kind === 'hosted' ? hostedPart(context) : issuedPart(context)),
    ...(problem !== undefined && { problem }),
  });
  visit.page(problem === undefined ? 200 : 400, html, context.the('redirectUri'));
}

type Part = Pick<
  ConsentView,
  | 'csrf'
  | 'organization'
  | 'app'
  | 'environment'
  | 'hours'
  | 'dataAccess'
  | 'restricted'
  | 'websites'
  | 'chosen'
  | 'hosted'
>;

function issuedPart(context: OAuthContext): Part {
  const client = context.the('client');
  const choice = context.known('choice');
  return {
    csrf: csrfToken(context, client.revision),
    organization: client.organization,
    app: client.app,
    environment: client.environment,
    hours: CONSENT_HOURS,
    dataAccess: client.dataAccess,
    restricted: client.restricted,
    websites: client.websites,
    ...(choice && {
      chosen: {
        scopes: choice.scopes,
        websites: client.websites.filter(({ site }) => choice.sites.includes(site)).map(({ id }) => id),
        renewal: choice.renewable,
      },
    }),
  };
}

function hostedPart(context: OAuthContext): Part {
  const client = context.the('hosted');
  const { organization, websites } = context.the('offer');
  const choice = context.known('hostedChoice');
  return {
    csrf: csrfToken(context, fingerprint(context)),
    organization,
    app: client.name,
    environment: 'live',
    hours: 0,
    dataAccess: DATA_ACCESS,
    restricted: false,
    websites,
    hosted: {
      host: client.host,
      loopback: isLoopback(new URL(context.the('redirectUri'))),
      durations: durationsUpTo(context.services.hosted.longest),
      dataAccess: choice?.dataAccess ?? [],
      duration: choice?.duration,
    },
    ...(choice && {
      chosen: {
        scopes: choice.scopes,
        websites: websites.filter(({ site }) => choice.sites.includes(site)).map(({ id }) => id),
        renewal: false,
      },
    }),
  };
}
