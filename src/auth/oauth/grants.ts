import type { Scope } from '../../core/scopes.ts';
import {
  type Exchanged,
  endToken,
  insertConsent,
  issueAccess,
  LIVES,
  redeemCode,
  rotateRefresh,
  type TokenEnd,
} from '../../store/sign-in/oauth.ts';
import { newId } from '../issue.ts';
import { digestOf, newSecret, wellFormed } from '../tokens.ts';
import type { Choice, OAuthContext } from './context.ts';
import { OAuthError } from './errors.ts';
import { resourceUri } from './metadata.ts';
import { check } from './order.ts';
import { proveAgain } from './rules/client-authentication.ts';
import { requestDigest } from './rules/csrf.ts';
import { PageOutdated } from './rules/selection.ts';

/**
 * A token response (RFC 6749, section 5.1). `resource` is the URI of the resource to which the token is bound (RFC
 * 8707).
 */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
  readonly scope: string;
  readonly resource: string;
  readonly refresh_token?: string;
  readonly refresh_expires_in?: number;
}

export const CONSENT_HOURS = LIVES.renewableConsent / 3_600;
export const ACCESS_MINUTES = LIVES.access / 60;

export const GRANTS = {
  async client_credentials(context: OAuthContext): Promise<TokenResponse> {
    const { access } = secretsFor(context);
    const given = { digest: digestOf(access), audience: context.the('resource') };
    const issued = await whileProved(context, () => {
      const narrowed = { scopes: context.the('scopes'), sites: context.the('sites') };
      return issueAccess(context.services.db, context.the('proof'), { ...given, ...narrowed });
    });
    if ('wait' in issued) throw new OAuthError('too_many_tokens', { retryAfter: issued.wait });
    return tokenResponse(context, access, { scopes: context.the('scopes'), expires_in: issued.expires_in });
  },

  async authorization_code(context: OAuthContext): Promise<TokenResponse> {
    const { access, refresh } = secretsFor(context);
    const given = {
      code: presented(context, 'code'),
      redirectUri: context.request.parameters?.get('redirect_uri')?.[0] ?? '',
      challenge: context.the('challenge'),
      audience: context.the('resource'),
      access: digestOf(access),
      refresh: digestOf(refresh),
    };
    const exchanged = await whileProved(context, () =>
      redeemCode(context.services.db, context.the('proof'), given).then(unlessStale),
    );
    return tokenResponse(context, access, accepted(exchanged), refresh);
  },

  async refresh_token(context: OAuthContext): Promise<TokenResponse> {
    const { access, refresh } = secretsFor(context);
    const given = {
      token: presented(context, 'refresh_token'),
      audience: context.the('resource'),
      scopes: context.known('scopes') ?? null,
      access: digestOf(access),
      refresh: digestOf(refresh),
    };
    const exchanged = await whileProved(context, () =>
      rotateRefresh(context.services.db, context.the('proof'), given).then(unlessStale),
    );
    return tokenResponse(context, access, accepted(exchanged), refresh);
  },
};

/**
 * Ends the token in the request. Reports no error if the token is unknown, is malformed, has already ended, or belongs
 * to another client (RFC 7009, section 2.2).
 */
export async function revoke(context: OAuthContext): Promise<TokenEnd | undefined> {
  const token = context.request.parameters?.get('token')?.[0] ?? '';
  if (!wellFormed(token)) return undefined;
  return whileProved(context, () => endToken(context.services.db, context.the('proof'), digestOf(token)));
}

/**
 * Records the consent of the person and returns the authorization code. Throws PageOutdated if the consent page is
 * outdated or was answered before.
 */
export async function approve(context: OAuthContext, choice: Choice): Promise<string> {
  const code = newSecret('code');
  const client = context.the('client');
  const id = newId('cns');
  const done = await insertConsent(context.services.db, {
    id,
    credential: client.id,
    revision: context.the('shown'),
    ...choice,
    ...requestOf(context, code),
  });
  if (!done) throw new PageOutdated();
  context.learn('consent', id);
  return code;
}

/** What every consent stores of its authorization request. */
export const requestOf = (context: OAuthContext, code: string) => ({
  session: digestOf(context.request.session ?? ''),
  request: requestDigest(context),
  audience: context.the('resource'),
  code: digestOf(code),
  challenge: context.the('challenge'),
  redirectUri: context.the('redirectUri'),
});

const ATTEMPTS = 3;

/**
 * Runs a statement that verifies the client's proof. If the proof is outdated, authenticates the client again and
 * repeats the statement.
 */
async function whileProved<T>(context: OAuthContext, run: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const done = await run();
    if (done !== undefined) return done;
    await proveAgain(context);
    // The client may now hold fewer grants, so the rules must check the request again.
    await check(context);
  }
  throw new OAuthError('temporarily_unavailable', { retryAfter: 1 });
}

const unlessStale = (exchanged: Exchanged): Exchanged | undefined =>
  'refused' in exchanged && exchanged.refused === 'stale' ? undefined : exchanged;

export function accepted<E extends Exchanged>(exchanged: E, secret = true): Exclude<E, { refused: unknown }> {
  if (!('refused' in exchanged)) return exchanged as Exclude<E, { refused: unknown }>; // the cast is sound, because only a refusal has this member
  const { refused, ended, wait } = exchanged;
  throw new OAuthError(refused === 'stale' ? 'temporarily_unavailable' : refused, {
    secret,
    ended,
    ...(wait !== undefined && { retryAfter: wait }),
  });
}

/**
 * Returns the digest of the authorization code or refresh token. Refuses a malformed value without a query, because the
 * gateway never issues such a value.
 */
function presented(context: OAuthContext, name: 'code' | 'refresh_token'): Buffer {
  const secret = context.request.parameters?.get(name)?.[0] ?? '';
  if (!wellFormed(secret)) throw new OAuthError('invalid_grant');
  return digestOf(secret);
}

function secretsFor(context: OAuthContext): { access: string; refresh: string } {
  const live = context.the('client').environment === 'live';
  return {
    access: newSecret(live ? 'access_live' : 'access_test'),
    refresh: newSecret(live ? 'refresh_live' : 'refresh_test'),
  };
}

export function tokenResponse(
  context: OAuthContext,
  access: string,
  given: { scopes: readonly Scope[]; expires_in: number; refresh_expires_in?: number | null },
  refresh?: string,
): TokenResponse {
  const { scopes, expires_in, refresh_expires_in } = given;
  return {
    access_token: access,
    token_type: 'Bearer',
    expires_in,
    scope: scopes.join(' '),
    resource: resourceUri(context.services.baseUrl, context.the('resource')),
    ...(refresh !== undefined && refresh_expires_in != null && { refresh_token: refresh, refresh_expires_in }),
  };
}
