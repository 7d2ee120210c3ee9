import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import type { IdentityProvider } from '../../../auth/identity-provider.ts';
import { NotVouchedFor } from '../../../auth/not-vouched-for.ts';
import { SESSION_SECONDS, signInWith } from '../../../auth/sign-in.ts';
import { Failure } from '../../../core/failures.ts';
import { FairLimit, QueueFull } from '../../../flow/fair-limit.ts';
import { networkOf } from '../../../flow/network.ts';
import { RateLimit } from '../../../flow/rate-limit.ts';
import { isConsolePage } from '../../../gateway/console/paths.ts';
import { isRecordId } from '../../../gateway/record-page.ts';
import { identityCookie, identityName, readCookie, sessionCookie } from './cookies.ts';
import { tellPassed } from './told.ts';
import { CONSOLE, errorPage, RECORD } from './views.ts';
import type { Visit } from './visit.ts';

interface Refusal {
  readonly status: 400 | 403 | 429 | 503;
  readonly code: string;
  readonly title: string;
  readonly sentence: string;
  /** Seconds until a new sign-in can succeed. */
  readonly retryAfter?: number;
  readonly cause?: unknown;
}

/** Seconds that a person has to sign in at the identity provider. */
const KEPT_SECONDS = 600;
/**
 * Longest Set-Cookie value, in bytes. Browsers silently drop a cookie of more than 4,096 bytes, including its
 * attributes.
 */
const COOKIE_MAX = 3_900;
/**
 * Largest state of a sign-in in bytes, after decompression. A state holds a query, and a request line has at most 16
 * KiB.
 */
const KEPT_MAX = 16_384;

const QUERY = /^[\x21-\x7e]*$/;
const KeptCookie = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  query: z.string().regex(QUERY),
  /** Path of the gateway's own page that asked for the sign-in. The query is empty if there is such a page. */
  page: z.string().refine(isOwnPage).optional(),
});
type KeptCookie = z.infer<typeof KeptCookie>;

const UNREADABLE: Refusal = {
  code: 'identity_unreadable',
  status: 400,
  title: 'This sign-in cannot start',
  sentence: 'The app has sent a request that is too long or invalid.',
};
const LAPSED: Refusal = {
  code: 'identity_lapsed',
  status: 400,
  title: 'This sign-in has ended',
  sentence: 'The sign-in took too long, is already complete, or started in another browser.',
};
const REFUSED: Refusal = {
  code: 'identity_refused',
  status: 403,
  title: 'You are not signed in',
  sentence: 'The identity provider did not confirm who you are.',
};
const throttled = (retryAfter: number): Refusal => ({
  code: 'throttled',
  status: 429,
  title: 'Too many sign-ins',
  sentence: 'There are too many sign-ins from your network. Wait a moment, then start again.',
  retryAfter,
});
/** `tenant` is the organization of the app that asks, and `page` the gateway's own page. */
const unknownHere = (tenant: string | null, page: string | undefined): Refusal => {
  const who = page !== undefined && isConsolePage(page) ? 'owner, admin or approver' : 'owner or admin';
  return {
    code: 'identity_unknown',
    status: 403,
    title: page === undefined ? 'You cannot approve this request' : 'You cannot see this page',
    sentence: `You have signed in, but you are not an ${who} of ${tenant === null ? 'any' : 'this'} organization. Start again and sign in as an ${who}.`,
  };
};
const moved = (to: string, baseUrl: string): Refusal =>
  to === baseUrl
    ? {
        code: 'organization_moved',
        status: 503,
        title: 'Your organization is moving to this address',
        sentence: 'Try again in a minute.',
        retryAfter: 60,
      }
    : // Not 421: Chromium sends a request with this answer once more, and the code of the provider works once.
      { code: 'organization_moved', status: 403, title: 'Your organization has moved', sentence: `Sign in at ${to}.` };

/** Callbacks of a network that the provider has not confirmed. */
const FAILURES = { perMinute: 60, burst: 60 };
/** Callbacks that ask the provider at the same time. A request that the provider does not answer takes 5 s. */
const ASKING = { atOnce: 8, each: 4, waiting: 100 };

/**
 * Bounds of the callbacks in one process. A stranger can make up the cookie and the code, and the gateway then asks the
 * provider about the code.
 */
export const openCallbacks = () => ({ failures: new RateLimit(FAILURES), asking: new FairLimit(ASKING) });

const CALLBACK = '/oauth/identity/callback';

/**
 * Sends the browser to the identity provider. `page` is the path of the gateway's own page that asks for the sign-in. It
 * is absent for an authorization request that the rules have checked. Throws `service_unavailable` when the provider does not answer.
 */
export async function beginIdentity(visit: Visit, provider: IdentityProvider, page?: string): Promise<void> {
  const { baseUrl } = visit.services;
  const query = page === undefined ? visit.query : '';
  if (!QUERY.test(query)) return refuse(visit, UNREADABLE, page);
  const { url, kept } = await provider.begin(baseUrl + CALLBACK);
  const cookie = identityCookie(baseUrl, pack({ ...kept, query, page }), KEPT_SECONDS);
  if (cookie.length > COOKIE_MAX) return refuse(visit, UNREADABLE, page);
  visit.redirect(url, { 'Set-Cookie': [cookie] });
}

interface Callback {
  readonly provider: IdentityProvider;
  readonly callbacks: ReturnType<typeof openCallbacks>;
  /** The tenant of a client: `null` for a client by URL, which belongs to none. `undefined` for an unknown client. */
  readonly tenantOf: (client: string) => Promise<string | null | undefined>;
}

/**
 * Answers the redirect from the identity provider. Throws `service_unavailable` when the identity provider does not
 * answer, or too many callbacks wait.
 */
export async function finishIdentity(visit: Visit, { provider, callbacks, tenantOf }: Callback): Promise<void> {
  const { baseUrl, db } = visit.services;
  const kept = unpack(readCookie(visit.request, identityName(baseUrl)));
  // The state of a sign-in is valid for one attempt. So delete the cookie even if the attempt fails.
  const forget = identityCookie(baseUrl, '', 0);
  visit.response.setHeader('Set-Cookie', forget);
  if (!kept) return refuse(visit, LAPSED);
  const { page } = kept;
  const tenant = page === undefined ? await tenantOf(clientOf(kept.query)) : null;
  if (tenant === undefined) return refuse(visit, LAPSED);
  const { failures, asking } = callbacks;
  const { source } = visit.wire;
  const wait = failures.wait(source);
  if (wait > 0) return refuse(visit, throttled(wait), page);
  // The callback counts as failed before the provider answers. Otherwise a thousand parallel ones could all pass.
  failures.failed(source);
  // Build the URL from the base URL and not from the header Host, because the identity provider compares this URL with
  // the redirect URI.
  const callback = new URL(`${baseUrl}${CALLBACK}?${visit.query}`);
  const finish = () => provider.finish(callback, kept);
  const identity = await asking.run(networkOf(source), finish).catch((error: unknown) => {
    if (error instanceof NotVouchedFor) return error;
    throw error instanceof QueueFull ? new Failure('service_unavailable', { retryAfter: 1 }) : error;
  });
  if (identity instanceof NotVouchedFor) return refuse(visit, { ...REFUSED, cause: identity }, page);
  failures.succeeded(source);
  const approvers = page !== undefined && isConsolePage(page);
  const signedIn = await signInWith(db, { tenant, ...identity, approvers });
  if ('refused' in signedIn) {
    return refuse(visit, 'to' in signedIn ? moved(signedIn.to, baseUrl) : unknownHere(tenant, page), page);
  }
  visit.record.audit = { person: signedIn.person };
  if (!('chooses' in signedIn)) tellPassed(visit, signedIn);
  const onward = page ?? `/oauth/authorize?${kept.query}`;
  const session = sessionCookie(baseUrl, signedIn.session, SESSION_SECONDS);
  visit.redirect(baseUrl + onward, { 'Set-Cookie': [session, forget] });
}

/** Answers with an error page. The cause of the refusal goes only to the log. */
function refuse(visit: Visit, { status, code, title, sentence, retryAfter, cause }: Refusal, page?: string): void {
  const { requestId } = visit;
  visit.record.code = code;
  visit.record.cause = cause;
  visit.record.audit = { source: visit.wire.source };
  const advice = page === undefined ? undefined : (page.startsWith('/c/') ? RECORD : CONSOLE).advice;
  const html = errorPage({ title, sentence, requestId, ...(advice !== undefined && { advice }) });
  visit.page(status, html, undefined, { ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }) });
}

/** True only for paths of the gateway, so that a forged cookie cannot send the person to another site. */
function isOwnPage(path: string): boolean {
  return path.startsWith('/c/') ? isRecordId(path.slice('/c/'.length)) : isConsolePage(path);
}

/**
 * Returns the client id in a query. Returns an empty text unless the query has exactly one client id. No client has an
 * empty id, so the gateway then finds no client.
 */
function clientOf(query: string): string {
  const [id = '', ...others] = new URLSearchParams(query).getAll('client_id');
  return others.length === 0 ? id : '';
}

const pack = (kept: KeptCookie): string => deflateRawSync(JSON.stringify(kept)).toString('base64url');

function unpack(cookie: string | undefined): KeptCookie | undefined {
  if (cookie === undefined) return undefined;
  try {
    const bytes = inflateRawSync(Buffer.from(cookie, 'base64url'), { maxOutputLength: KEPT_MAX });
    return KeptCookie.parse(JSON.parse(bytes.toString()));
  } catch (error) {
    // The gateway has not made this cookie if the cookie cannot be decompressed, if its text is not JSON, or if the
    // JSON has the wrong members. Any other error is a defect of the gateway.
    if (error instanceof SyntaxError || error instanceof z.ZodError || (error instanceof Error && 'code' in error)) {
      return undefined;
    }
    throw new Failure('internal', { cause: error });
  }
}
