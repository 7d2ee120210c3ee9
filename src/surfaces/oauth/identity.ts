import type { IncomingMessage, ServerResponse } from 'node:http';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import { type IdentityProvider, NotVouchedFor } from '../../auth/identity-provider.ts';
import { type Identity, SESSION_SECONDS } from '../../auth/sign-in.ts';
import { Failure } from '../../core/failures.ts';
import { isRecordId } from '../../gateway/record-page.ts';
import { send } from '../http/reply.ts';
import { queryOf } from '../http/request.ts';
import { identityCookie, identityName, readCookie, sessionCookie } from './cookies.ts';

export interface IdentityOptions {
  readonly baseUrl: string;
  readonly provider: IdentityProvider;
  /** The tenant of a client. `null` is for a hosted client, which belongs to none. `undefined` is for an unknown client. */
  tenantOf(clientId: string): Promise<string | null | undefined>;
  signInWith(identity: Identity & { tenant: string | null }): Promise<{ session: string } | { refused: 'credentials' }>;
  /** Answers with an error page. The cause of the refusal goes only to the log. */
  refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal, record?: string): void;
}

export interface Refusal {
  readonly status: 400 | 403;
  readonly code: string;
  readonly title: string;
  readonly sentence: string;
  readonly cause?: unknown;
}

export interface IdentityHandlers {
  /**
   * Answers GET /oauth/identity?<query of the authorization request>, or GET /c/<record>/identity. Throws
   * `service_unavailable` when the identity provider does not answer.
   */
  begin(request: IncomingMessage, response: ServerResponse, record?: string): Promise<void>;
  /**
   * Answers GET /oauth/identity/callback, the redirect from the identity provider. Throws `service_unavailable` when
   * the identity provider does not answer.
   */
  finish(request: IncomingMessage, response: ServerResponse): Promise<void>;
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
const Kept = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  query: z.string().regex(QUERY),
  /** Id of the record whose page asked for the sign-in. The query is empty if there is a record. */
  record: z.string().refine(isRecordId).optional(),
});
type Kept = z.infer<typeof Kept>;

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
const UNKNOWN: Refusal = {
  code: 'identity_unknown',
  status: 403,
  title: 'You cannot approve this request',
  sentence:
    'You have signed in, but you are not an owner or admin of this organization. Start again and sign in as an owner or admin.',
};

export function identityHandlers(options: IdentityOptions): IdentityHandlers {
  const { baseUrl, provider, tenantOf, refuse } = options;
  const redirectUri = `${baseUrl}/oauth/identity/callback`;
  const forget = identityCookie(baseUrl, '', 0);

  return {
    async begin(request, response, record) {
      const query = record === undefined ? queryOf(request) : '';
      const known = record !== undefined || (QUERY.test(query) && (await tenantOf(clientOf(query))) !== undefined);
      if (!known) return refuse(request, response, UNREADABLE);
      const { url, kept } = await provider.begin(redirectUri);
      const cookie = identityCookie(baseUrl, pack({ ...kept, query, record }), KEPT_SECONDS);
      if (cookie.length > COOKIE_MAX) return refuse(request, response, UNREADABLE);
      redirect(request, response, url, [cookie]);
    },
    async finish(request, response) {
      const kept = unpack(readCookie(request, identityName(baseUrl)));
      // The state of a sign-in is valid for one attempt. So delete the cookie even if the attempt fails.
      response.setHeader('Set-Cookie', forget);
      if (!kept) return refuse(request, response, LAPSED);
      const { record } = kept;
      const tenant = record === undefined ? await tenantOf(clientOf(kept.query)) : null;
      if (tenant === undefined) return refuse(request, response, LAPSED);
      // Build the URL from the base URL and not from the header Host, because the identity provider compares this URL
      // with the redirect URI.
      const identity = await provider
        .finish(new URL(`${redirectUri}?${queryOf(request)}`), kept)
        .catch((error: unknown) => {
          if (error instanceof NotVouchedFor) return error;
          throw error;
        });
      if (identity instanceof NotVouchedFor) return refuse(request, response, { ...REFUSED, cause: identity }, record);
      const signedIn = await options.signInWith({ tenant, ...identity });
      if ('refused' in signedIn) return refuse(request, response, UNKNOWN, record);
      const session = sessionCookie(baseUrl, signedIn.session, SESSION_SECONDS);
      const onward = record === undefined ? `/oauth/authorize?${kept.query}` : `/c/${record}`;
      redirect(request, response, `${baseUrl}${onward}`, [session, forget]);
    },
  };
}

/**
 * Returns the client id in a query. Returns an empty text unless the query has exactly one client id. No client has an
 * empty id, so the gateway then finds no client.
 */
function clientOf(query: string): string {
  const [id = '', ...others] = new URLSearchParams(query).getAll('client_id');
  return others.length === 0 ? id : '';
}

const pack = (kept: Kept): string => deflateRawSync(JSON.stringify(kept)).toString('base64url');

function unpack(cookie: string | undefined): Kept | undefined {
  if (cookie === undefined) return undefined;
  try {
    const bytes = inflateRawSync(Buffer.from(cookie, 'base64url'), { maxOutputLength: KEPT_MAX });
    return Kept.parse(JSON.parse(bytes.toString()));
  } catch (error) {
    // The gateway has not made this cookie if the cookie cannot be decompressed, if its text is not JSON, or if the
    // JSON has the wrong members. Any other error is a defect of the gateway.
    if (error instanceof SyntaxError || error instanceof z.ZodError || (error instanceof Error && 'code' in error)) {
      return undefined;
    }
    throw new Failure('internal', { cause: error });
  }
}

function redirect(
  request: IncomingMessage,
  response: ServerResponse,
  location: string,
  cookies: readonly string[],
): void {
  send(request, response, 303, 'text/plain; charset=utf-8', 'Continue at the address in the Location header.\n', {
    Location: location,
    'Set-Cookie': [...cookies],
  });
}
