import { organizationsOf } from '../../auth/memberships.ts';
import { OAuthContext, type OAuthRequest } from '../../auth/oauth/context.ts';
import type { OAuthError } from '../../auth/oauth/errors.ts';
import { check } from '../../auth/oauth/order.ts';
import { isRecordId } from '../../gateway/record-page.ts';
import { missingPage, recordPage } from './pages/record.ts';
import { errorPage, organizationsPage, signInPage } from './pages/views.ts';
import { type Given, leave, tryToSignIn } from './sign-in.ts';
import { asOAuthError } from './token.ts';
import type { Visit } from './visit.ts';

/** The sentence on an error page that says what a person can do. */
export const ADVICE = 'No record was shown. You can close the page, or open the address of the record again.';

const PATH = /^\/c\/([^/]+?)(?:\/(sign-in|sign-out|identity))?$/;
type Leg = '' | 'sign-in' | 'sign-out' | 'identity';

/** Splits the path of a record's page, or of a form on this page. Returns undefined for every other path. */
export function recordAt(path: string): { readonly id: string; readonly leg: Leg } | undefined {
  const [, id = '', leg = ''] = PATH.exec(path) ?? [];
  return isRecordId(id) ? { id, leg: leg as Leg } : undefined; // the pattern permits only the legs
}

/** Answers GET /c/<id>, for a signed-in person of the organization that has the record. */
export const showRecord = (visit: Visit, id: string): Promise<void> =>
  guarded(visit, async () => {
    const { record, services, wire } = visit;
    const page = await services.records({ id, session: wire.session, source: wire.source });
    if (page.state === 'signed_out') return showDoor(visit, id);
    const signOut = `/c/${id}/sign-out`;
    const { viewer } = page;
    record.does = 'view';
    record.audit = { person: viewer.authority.personId, ...(page.state === 'shown' && { record: id }) };
    if (page.state === 'throttled') {
      record.code = 'quota_exceeded';
      const sentence = 'You have opened too many records in a short time. Wait a minute, then try again.';
      const html = errorPage({ title: 'Too many records', sentence, requestId: visit.requestId, advice: ADVICE });
      visit.page(429, html, undefined, { 'Retry-After': String(page.retryAfter) });
    } else if (page.state === 'missing') {
      record.code = 'not_found';
      visit.page(404, missingPage({ viewer, signOut }));
    } else visit.page(200, recordPage({ id, viewer, signOut, record: page.record }));
  });

/** Answers a request for an address that no record can have. */
export function showMissing(visit: Visit): void {
  visit.record.code = 'not_found';
  visit.page(404, missingPage(undefined));
}

export const receiveRecordSignIn = (visit: Visit, id: string): Promise<void> =>
  guarded(visit, async () => {
    visit.record.does = 'authentication';
    const form = await visit.form();
    await check(contextOf(visit, id, 'sign_in', form));
    await tryToSignIn(visit, form, {
      tenant: null,
      onward: `/c/${id}`,
      ask: (status, given, headers) => visit.page(status, signIn(visit, id, given), undefined, headers),
    });
  });

export const receiveRecordSignOut = (visit: Visit, id: string): Promise<void> =>
  guarded(visit, async () => {
    visit.record.does = 'revocation';
    await check(contextOf(visit, id, 'sign_out', await visit.form()));
    await leave(visit, `/c/${id}`);
  });

export const leaveForRecord = (visit: Visit, begin: () => Promise<void>): Promise<void> => guarded(visit, begin);

/** Shows the sign-in form. A person of several organizations who has just signed in gets the choice of an organization. */
async function showDoor(visit: Visit, id: string): Promise<void> {
  const organizations = await organizationsOf(visit.services.db, visit.wire.session);
  if (organizations.length === 0) return visit.page(200, signIn(visit, id, { email: '' }));
  const forms = { action: `/c/${id}/sign-in`, signOut: `/c/${id}/sign-out` };
  visit.page(200, organizationsPage({ ...forms, organizations }));
}

function signIn({ services: { identity } }: Visit, id: string, given: Given): string {
  return signInPage({
    action: `/c/${id}/sign-in`,
    ...given,
    ...(identity !== undefined && { identity: { action: `/c/${id}/identity`, name: identity } }),
  });
}

const contextOf = (
  visit: Visit,
  record: string,
  endpoint: 'sign_in' | 'sign_out',
  form: OAuthRequest['form'],
): OAuthContext => new OAuthContext(endpoint, { ...visit.wire, parameters: undefined, form, record }, visit.services);

/** Runs the answer to a request. A failure becomes an error page, and the log gets the reason. */
async function guarded(visit: Visit, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    const refusal = asOAuthError(error);
    visit.record.code = refusal.code;
    visit.record.cause = refusal.details.cause;
    showRefusal(visit, refusal);
  }
}

function showRefusal(visit: Visit, { status, details: { retryAfter } }: OAuthError): void {
  const [title, sentence] =
    status < 500
      ? ['This request cannot be answered', 'The form did not come from this page, or the page is out of date.']
      : ['The gateway cannot answer now', 'The gateway could not read the record. Try again in a moment.'];
  const html = errorPage({ title, sentence, requestId: visit.requestId, advice: ADVICE });
  visit.page(status, html, undefined, { ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }) });
}
