import type { IdentityProvider } from '../../auth/identity-provider.ts';
import { DOCUMENT_RULES } from '../../auth/oauth/clients/document-rules.ts';
import { approve } from '../../auth/oauth/consent.ts';
import { OAuthContext } from '../../auth/oauth/context.ts';
import type { ClientReason, OAuthError } from '../../auth/oauth/errors.ts';
import { check } from '../../auth/oauth/order.ts';
import { readParameters } from '../../auth/oauth/parameters.ts';
import { OrganizationNeeded, SignInNeeded, sessionPerson } from '../../auth/oauth/rules/person.ts';
import { PageOutdated } from '../../auth/oauth/rules/selection.ts';
import { beginIdentity } from '../http/pages/identity.ts';
import { leave, tryToSignIn } from '../http/pages/sign-in.ts';
import { tellAnswer } from '../http/pages/told.ts';
import { errorPage } from '../http/pages/views.ts';
import type { Visit } from '../http/pages/visit.ts';
import type { OAuthVisit } from './oauth.ts';
import { showConsent, showOrganizations, showSignIn } from './show.ts';

export const showAuthorize = (visit: OAuthVisit): Promise<void> =>
  checked(visit, 'authorize', (context) => showConsent(visit, context));

export function receiveSignIn(visit: OAuthVisit): Promise<void> {
  visit.record.does = 'authentication';
  return checked(visit, 'sign_in', (context) =>
    tryToSignIn(visit, context.request.form, {
      tenant: context.kind === 'by_url' ? null : context.installed.tenant,
      onward: `/oauth/authorize?${visit.query}`,
      ask: (status, given, headers) => showSignIn(visit, context, status, given, headers),
    }),
  );
}

export function receiveConsent(visit: OAuthVisit): Promise<void> {
  visit.record.does = 'consent';
  return checked(visit, 'consent', async (context) => {
    const missing = context.the('pressed') === 'tick' ? undefined : missingIn(context);
    if (context.the('pressed') === 'tick' || missing !== undefined) {
      visit.record.does = undefined;
      showConsent(visit, context, missing);
      return;
    }
    const code = await approve(context);
    await tellAnswer(visit, context.the('person'), context.the('consent'));
    visit.redirect(callback(context, { code }));
  });
}

/** What the person still has to choose, as a sentence. `undefined` if nothing is missing. */
function missingIn(context: OAuthContext): string | undefined {
  const { scopes, websites, duration } = context.the('choice');
  if (scopes.length === 0) return 'Tick at least one permission, or deny.';
  if (websites.length === 0) return 'Tick at least one website, or deny.';
  return context.kind === 'by_url' && !duration ? 'Choose for how long, or deny.' : undefined;
}

export const leaveForIdentity = (visit: OAuthVisit, provider: IdentityProvider): Promise<void> =>
  checked(visit, 'identity', () => beginIdentity(visit, provider));

export function receiveSignOut(visit: OAuthVisit): Promise<void> {
  visit.record.does = 'revocation';
  return checked(visit, 'sign_out', () => leave(visit, `/oauth/authorize?${visit.query}`));
}

/** Answers a request after all checks of its endpoint. */
async function checked(
  visit: OAuthVisit,
  endpoint: OAuthContext['endpoint'],
  answer: (context: OAuthContext) => Promise<void> | void,
): Promise<void> {
  const parameters = readParameters(visit.query);
  const form = visit.request.method === 'POST' ? await visit.form() : undefined;
  const context = new OAuthContext(endpoint, { ...visit.wire, parameters, form }, visit.services);
  try {
    await check(context);
    await answer(context);
    audit(visit, context);
  } catch (error) {
    await refuse(visit, context, error);
  }
}

/**
 * Adds the person, the consent and the host of a client by URL to the audit entry. If the request was refused, also
 * adds the caller's address. Apart from the host, as the URL parser reads it, the audit entry contains no value that
 * the caller sent.
 */
function audit({ record, wire }: OAuthVisit, context: OAuthContext): void {
  const client = context.known('client');
  const host = context.known('clientHost');
  const person = context.known('person');
  const consent = context.known('consent');
  if (client?.kind === 'installed') record.credential = client.id;
  record.audit = {
    ...record.audit,
    ...(host !== undefined && { client_host: host }),
    ...(person && { person: person.id }),
    ...(consent !== undefined && { consent }),
    ...(record.code !== undefined && { source: wire.source }),
  };
}

async function refuse(visit: OAuthVisit, context: OAuthContext, error: unknown): Promise<void> {
  if (error instanceof SignInNeeded || error instanceof OrganizationNeeded) {
    // A first visit has no session, which is normal. A decision without a session is refused.
    if (context.endpoint === 'consent') {
      visit.record.code = 'session_ended';
      audit(visit, context);
    }
    if (error instanceof OrganizationNeeded) showOrganizations(visit, context, error.organizations);
    else showSignIn(visit, context, 200, { email: '' });
    return;
  }
  if (error instanceof PageOutdated) {
    visit.record.code = 'answered';
    audit(visit, context);
    const sentence =
      'The request was already answered, or the app or your access has changed. Go back to the app and start again.';
    const { requestId } = visit;
    visit.page(409, errorPage({ title: 'This request is no longer open', sentence, requestId }));
    return;
  }
  const refusal = visit.refusal(error);
  const person = context.known('person');
  if (refusal.code === 'access_denied' && person) await tellAnswer(visit, person, undefined);
  // A request with an unknown client or an unknown redirect URI gets an audit entry, even if the request only asks
  // for a page.
  if (context.known('redirectUri') === undefined && refusal.code === 'invalid_request')
    visit.record.does ??= 'authorization';
  const { reason, rule } = refusal.details;
  if (reason !== undefined) visit.record.audit = { ...visit.record.audit, reason, ...(rule !== undefined && { rule }) };
  audit(visit, context);
  // Three kinds of errors are not sent to the client. The first kind is a forged or changed form. The second kind is
  // a 5xx during sign-in, because the redirect to the client would interrupt the sign-in. The third kind is an error of
  // a client by URL before a person has signed in. Everybody can publish a document, so the gateway would send any
  // browser to any address (RFC 9700, section 4.11.2).
  const ours = refusal.details.about === 'form';
  const here = ours || (refusal.status >= 500 && context.endpoint !== 'consent' && context.endpoint !== 'authorize');
  const redirects = context.known('redirectUri') !== undefined && !here;
  if (redirects && (context.kind === 'installed' || (await sessionPerson(context)) !== undefined)) {
    visit.redirect(callback(context, { error: refusal.code, error_description: refusal.description }));
  } else showError(visit, refusal, ours);
}

/** What a person reads when the gateway does not accept a client by URL. The log names the host and the reason. */
const REASONS: Readonly<Record<ClientReason, string>> = {
  host_not_believed:
    'The operator of this gateway does not accept clients from this host. If you trust the app, ask the operator to accept its host.',
  document_unreachable:
    'The gateway could not fetch the document in which the app describes itself. Wait a moment, then try again.',
  document_refused:
    'The document in which the app describes itself breaks a rule of this gateway. Tell the developer of the app this rule:',
};

export function showError(visit: Visit, refusal: OAuthError, form = false): void {
  const { retryAfter, reason, rule, baseUrl } = refusal.details;
  const ofApp = !form && reason === undefined && baseUrl === undefined && refusal.status < 500;
  const sentence = form
    ? 'The form did not come from the consent page, or the page is out of date. Go back to the app and start again.'
    : reason !== undefined
      ? [REASONS[reason], rule && DOCUMENT_RULES[rule]].filter(Boolean).join(' ')
      : baseUrl !== undefined
        ? `The organization has moved to ${baseUrl}. Connect the app there.`
        : ofApp
          ? 'The app that sent you here made an invalid request. Tell the developer of the app.'
          : refusal.message;
  const title = refusal.status < 500 ? 'This request cannot be answered' : 'The gateway cannot answer now';
  const developer = ofApp ? refusal.description : undefined;
  visit.page(refusal.status, errorPage({ title, sentence, requestId: visit.requestId, developer }), undefined, {
    ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
  });
}

/** The URL of the callback with the parameters of the answer. `iss` names this authorization server (RFC 9207). */
function callback(context: OAuthContext, told: Readonly<Record<string, string>>): string {
  const uri = context.the('redirectUri');
  const state = context.known('state');
  const { baseUrl } = context.services;
  const added = new URLSearchParams({ ...told, ...(state !== undefined && { state }), iss: baseUrl });
  // Keep the redirect URI exactly as it was registered, because a URL parser could change its text.
  return `${uri}${uri.includes('?') ? '&' : '?'}${added}`;
}
