import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { OAuthContext, type OAuthRequest, type Services } from '../../auth/oauth/context.ts';
import type { OAuthError } from '../../auth/oauth/errors.ts';
import { ACCESS_MINUTES, approve, CONSENT_HOURS } from '../../auth/oauth/grants.ts';
import { check } from '../../auth/oauth/order.ts';
import { readParameters } from '../../auth/oauth/parameters.ts';
import { csrfToken } from '../../auth/oauth/rules/csrf.ts';
import { SignInNeeded } from '../../auth/oauth/rules/person.ts';
import { PageOutdated } from '../../auth/oauth/rules/selection.ts';
import { SESSION_SECONDS, signIn, signOut } from '../../auth/sign-in.ts';
import type { RequestRecord } from '../http/records.ts';
import { send } from '../http/reply.ts';
import { queryOf } from '../http/request.ts';
import { clearedSession, sessionCookie } from './cookies.ts';
import { consentPage, errorPage, signInPage } from './pages/views.ts';
import { asOAuthError, readForm } from './token.ts';

export interface PageServices extends Services {
  /** Display name of the organization's identity provider. `undefined` when no provider is configured. */
  readonly identity: string | undefined;
}

export class Visit {
  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly wire: Omit<OAuthRequest, 'parameters'>,
    readonly services: PageServices,
    readonly requestId: string,
    readonly record: RequestRecord,
  ) {}

  /** The query of the authorization request. The URL of every page contains it. */
  get query(): string {
    return queryOf(this.request);
  }

  page(status: number, html: string, callback?: string, headers: OutgoingHttpHeaders = {}): void {
    send(this.request, this.response, status, 'text/html; charset=utf-8', html, {
      ...headers,
      ...pageHeaders(callback),
    });
  }

  /** Redirects with 303, so that the browser does not send the form data again (RFC 9700, section 4.12). */
  redirect(location: string, headers: OutgoingHttpHeaders = {}): void {
    send(this.request, this.response, 303, 'text/plain; charset=utf-8', '', { ...headers, Location: location });
  }

  async form(): Promise<ReturnType<typeof readParameters>> {
    return readParameters(await readForm(this.request, this.response));
  }
}

/**
 * The policy must allow the origin of the callback, because Chromium applies `form-action` even to the redirect that
 * follows a form.
 */
const pageHeaders = (callback: string | undefined): OutgoingHttpHeaders => ({
  'Content-Security-Policy': `default-src 'none'; style-src 'self'; form-action 'self'${
    callback === undefined ? '' : ` ${new URL(callback).origin}`
  }; frame-ancestors 'none'; base-uri 'none'`,
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
});

export async function showAuthorize(visit: Visit): Promise<void> {
  const context = contextOf(visit, 'authorize');
  await guarded(visit, context, async () => {
    await check(context);
    showConsent(visit, context);
  });
}

export async function receiveSignIn(visit: Visit): Promise<void> {
  visit.record.does = 'authentication';
  const form = await visit.form();
  const context = contextOf(visit, 'sign_in', form);
  await guarded(visit, context, async () => {
    await check(context);
    const [email = ''] = form?.get('email') ?? [];
    const [password = ''] = form?.get('password') ?? [];
    const { services, wire } = visit;
    const { tenant } = context.the('client');
    const done = await signIn(services.db, { tenant, email, password, source: wire.source });
    if ('session' in done) {
      visit.record.audit = { person: done.person };
      visit.redirect(`/oauth/authorize?${visit.query}`, {
        'Set-Cookie': sessionCookie(services.baseUrl, done.session, SESSION_SECONDS),
      });
      return;
    }
    visit.record.code = done.refused;
    if (done.refused === 'throttled') {
      const minutes = Math.ceil(done.retryAfter / 60);
      const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`;
      const problem = `Too many sign-in attempts have failed. Wait ${wait}, then try again. The operator of this gateway can unlock you at once.`;
      showSignIn(visit, context, 429, { email, problem, locked: true }, { 'Retry-After': String(done.retryAfter) });
    } else {
      const problem =
        'No owner or admin of this organization has this e-mail and password. Check the e-mail and the password, then try again.';
      showSignIn(visit, context, 403, { email, problem });
    }
  });
}

export async function receiveConsent(visit: Visit): Promise<void> {
  visit.record.does = 'consent';
  const form = await visit.form();
  const context = contextOf(visit, 'consent', form);
  await guarded(visit, context, async () => {
    await check(context);
    const choice = context.the('choice');
    if (context.the('pressed') === 'tick') {
      visit.record.does = undefined;
      showConsent(visit, context);
      return;
    }
    const nothing = choice.scopes.length === 0 ? 'scope' : choice.sites.length === 0 ? 'website' : undefined;
    if (nothing !== undefined) {
      visit.record.does = undefined;
      showConsent(visit, context, `Tick at least one ${nothing === 'scope' ? 'permission' : 'website'}, or deny.`);
      return;
    }
    visit.redirect(callback(context, { code: await approve(context, choice) }));
  });
}

export async function leaveForIdentity(visit: Visit, begin: () => Promise<void>): Promise<void> {
  const context = contextOf(visit, 'identity');
  await guarded(visit, context, async () => {
    await check(context);
    await begin();
  });
}

export async function receiveSignOut(visit: Visit): Promise<void> {
  visit.record.does = 'revocation';
  const context = contextOf(visit, 'sign_out', await visit.form());
  await guarded(visit, context, async () => {
    await check(context);
    const { session } = visit.wire;
    const person = session === undefined ? undefined : await signOut(visit.services.db, session);
    if (person === undefined) visit.record.does = undefined;
    else visit.record.audit = { person };
    visit.redirect(`/oauth/authorize?${visit.query}`, { 'Set-Cookie': clearedSession(visit.services.baseUrl) });
  });
}

function contextOf(visit: Visit, endpoint: OAuthContext['endpoint'], form?: OAuthRequest['form']): OAuthContext {
  const parameters = readParameters(visit.query);
  return new OAuthContext(endpoint, { ...visit.wire, parameters, form }, visit.services);
}

/**
 * Adds the person and the consent to the audit entry. If the request was refused, also adds the caller's address. The
 * audit entry never contains a value that the caller sent.
 */
function audit({ record, wire }: Visit, context: OAuthContext): void {
  const client = context.known('client');
  const person = context.known('person');
  const consent = context.known('consent');
  if (client) record.credential = client.id;
  record.audit = {
    ...record.audit,
    ...(person && { person: person.id }),
    ...(consent !== undefined && { consent }),
    ...(record.code !== undefined && { source: wire.source }),
  };
}

async function guarded(visit: Visit, context: OAuthContext, run: () => Promise<void>): Promise<void> {
  try {
    await run();
    audit(visit, context);
  } catch (error) {
    if (error instanceof SignInNeeded) {
      // A first visit has no session, which is normal. A decision without a session is refused.
      if (context.endpoint === 'consent') {
        visit.record.code = 'session_ended';
        audit(visit, context);
      }
      showSignIn(visit, context, 200, { email: '' });
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
    const refusal = asOAuthError(error);
    visit.record.code = refusal.code;
    visit.record.cause = refusal.details.cause;
    // A request with an unknown client or an unknown redirect URI gets an audit entry, even if the request only asks
    // for a page.
    if (context.known('redirectUri') === undefined && refusal.code === 'invalid_request')
      visit.record.does ??= 'authorization';
    audit(visit, context);
    // Two kinds of errors are not sent to the client. The first kind is a forged or changed form. The second kind is a
    // 5xx during sign-in, because the redirect to the client would interrupt the sign-in.
    const ours = refusal.details.about === 'form';
    const here = ours || (refusal.status >= 500 && context.endpoint !== 'consent' && context.endpoint !== 'authorize');
    if (context.known('redirectUri') !== undefined && !here) {
      visit.redirect(callback(context, { error: refusal.code, error_description: refusal.description }));
    } else showError(visit, refusal, ours);
  }
}

export function showError(visit: Visit, refusal: OAuthError, form = false): void {
  const { retryAfter } = refusal.details;
  const sentence = form
    ? 'The form did not come from the consent page, or the page is out of date. Go back to the app and start again.'
    : refusal.status < 500
      ? 'The app that sent you here made an invalid request. Tell the developer of the app.'
      : refusal.message;
  const title = refusal.status < 500 ? 'This request cannot be answered' : 'The gateway cannot answer now';
  visit.page(refusal.status, errorPage({ title, sentence, requestId: visit.requestId }), undefined, {
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

const host = (context: OAuthContext): string => new URL(context.the('redirectUri')).host;

function showSignIn(
  visit: Visit,
  context: OAuthContext,
  status: number,
  given: { email: string; problem?: string; locked?: boolean },
  headers: OutgoingHttpHeaders = {},
): void {
  const { organization, app } = context.the('client');
  const { identity } = visit.services;
  const html = signInPage({
    action: `/oauth/sign-in?${visit.query}`,
    organization,
    app,
    redirectHost: host(context),
    ...given,
    ...(identity !== undefined && { identity: { action: `/oauth/identity?${visit.query}`, name: identity } }),
  });
  visit.page(status, html, context.the('redirectUri'), headers);
}

function showConsent(visit: Visit, context: OAuthContext, problem?: string): void {
  const client = context.the('client');
  const choice = context.known('choice');
  const html = consentPage({
    action: `/oauth/consent?${visit.query}`,
    signOut: `/oauth/sign-out?${visit.query}`,
    csrf: csrfToken(context, client.revision),
    organization: client.organization,
    app: client.app,
    environment: client.environment,
    redirectHost: host(context),
    person: context.the('person').email,
    resource: context.the('resource'),
    hours: CONSENT_HOURS,
    minutes: ACCESS_MINUTES,
    scopes: context.the('scopes'),
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
    ...(problem !== undefined && { problem }),
  });
  visit.page(problem === undefined ? 200 : 400, html, context.the('redirectUri'));
}
