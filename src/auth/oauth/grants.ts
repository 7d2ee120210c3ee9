import { createHmac, randomBytes } from 'node:crypto';
import { effectiveOf, type ScopeEffective } from '../../core/authority.ts';
import type { Scope } from '../../core/scopes.ts';
import { loadAuthority } from '../../store/calls/authority.ts';
import {
  type Exchanged,
  endToken,
  issueAccess,
  LIVES,
  type Presenter,
  redeemCode,
  rotateRefresh,
  type TokenEnd,
} from '../../store/sign-in/grants.ts';
import { digestOf, newSecret, type SecretKind, secretFrom } from '../tokens.ts';
import type { OAuthContext } from './context.ts';
import { livesAt, OAuthError } from './errors.ts';
import { resourceUri } from './metadata.ts';
import { single } from './parameters.ts';
import { type Presented, present, presented, whileProved } from './present.ts';

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
  /** What the token can do now, which can be less than `scope`. Absent if the store does not answer. */
  readonly scope_effective?: ScopeEffective;
}

export const CONSENT_HOURS = LIVES.renewableConsent / 3_600;
export const ACCESS_MINUTES = LIVES.access / 60;

export const GRANTS = {
  async client_credentials(context: OAuthContext): Promise<TokenResponse> {
    const access = newSecret(kindOf(context, 'access'));
    const issued = await whileProved(context, () => {
      const given = { digest: digestOf(access), audience: context.the('resource') };
      const narrowed = { scopes: context.the('scopes'), sites: context.the('sites') };
      return issueAccess(context.services.db, context.the('proof'), { ...given, ...narrowed });
    });
    if ('wait' in issued) throw new OAuthError('too_many_tokens', { retryAfter: issued.wait });
    return tokenResponse(context, access, { scopes: context.the('scopes'), expires_in: issued.expires_in });
  },

  async authorization_code(context: OAuthContext): Promise<TokenResponse> {
    const { parameters } = context.request;
    const access = newSecret(kindOf(context, 'access'));
    const refresh = newSecret(kindOf(context, 'refresh'));
    const exchanged = await exchange(context, 'code', (by, code) =>
      redeemCode(context.services.db, by, {
        code,
        redirectUri: (parameters && single(parameters, 'redirect_uri')) ?? null,
        challenge: context.the('challenge'),
        audience: context.the('resource'),
        access: digestOf(access),
        refresh: digestOf(refresh),
      }),
    );
    return tokenResponse(context, access, exchanged, refresh);
  },

  async refresh_token(context: OAuthContext): Promise<TokenResponse> {
    const salt = randomBytes(32);
    const { access, refresh } = successors(context, salt);
    const exchanged = await exchange(context, 'refresh_token', (by, token) =>
      rotateRefresh(context.services.db, by, {
        token,
        audience: context.the('resource'),
        scopes: context.known('scopes') ?? null,
        salt,
        access: digestOf(access),
        refresh: digestOf(refresh),
      }),
    );
    // The salt differs when the request repeats an earlier request. The old token then gives the tokens of the first
    // answer again.
    const { salt: used = '' } = exchanged;
    const given = used === '' ? { access, refresh } : successors(context, Buffer.from(used, 'hex'));
    return tokenResponse(context, given.access, exchanged, given.refresh);
  },
};

/**
 * Ends the token in the request. Returns `undefined` if nothing ended. It is no error if the token is unknown, is
 * malformed, has already ended, or belongs to another client (RFC 7009, section 2.2). But when the address of a client
 * without a secret has failed too often, an unknown token is refused.
 */
export async function revoke(context: OAuthContext): Promise<TokenEnd | undefined> {
  const { kind, request, services } = context;
  const wait = kind === 'by_url' ? services.failures.wait(request.source) : 0;
  const some = ({ what, movedTo }: TokenEnd): boolean => what !== 'nothing' || movedTo !== undefined;
  const ended = await present(context, 'token', (by, token) => endToken(services.db, by, token), some);
  if (ended?.movedTo !== undefined) throw livesAt(ended.movedTo, services);
  if (ended && some(ended)) return ended;
  if (wait > 0) throw new OAuthError('slow_down', { secret: false, retryAfter: wait });
  return undefined;
}

/** Exchanges a code or a refresh token for new tokens. */
async function exchange(
  context: OAuthContext,
  name: Presented,
  run: (by: Presenter, digest: Buffer) => Promise<Exchanged | undefined>,
): Promise<Exclude<Exchanged, { refused: unknown }>> {
  const valid = (one: Exchanged): boolean => !('refused' in one) || one.refused !== 'invalid_grant';
  const exchanged = (await present(context, name, run, valid)) ?? { refused: 'invalid_grant' as const };
  if (!('refused' in exchanged)) return exchanged;
  if (exchanged.refused === 'organization_moved') throw livesAt(exchanged.to, context.services);
  const { refused, ended, wait } = exchanged;
  const secret = context.kind === 'installed';
  throw new OAuthError(refused, { secret, ended, ...(wait !== undefined && { retryAfter: wait }) });
}

/** The kind of a new token. A client by URL has no test environment. */
const kindOf = (context: OAuthContext, token: 'access' | 'refresh'): SecretKind =>
  `${token}_${context.kind === 'by_url' ? 'live' : context.installed.environment}`;

/**
 * The tokens that follow a refresh token. They are derived from the old token, so the gateway can give a lost answer
 * to a client by URL again although the store has only digests. Without the old token, nobody can derive them from the
 * salt. The salt of an installed client is not stored, because its repetition ends the consent.
 */
function successors(context: OAuthContext, salt: Buffer): { access: string; refresh: string } {
  const old = presented(context, 'refresh_token');
  const derived = (purpose: 'access' | 'refresh'): string =>
    secretFrom(kindOf(context, purpose), createHmac('sha256', old).update(purpose).update(salt).digest());
  return { access: derived('access'), refresh: derived('refresh') };
}

async function tokenResponse(
  context: OAuthContext,
  access: string,
  given: { scopes: readonly Scope[]; expires_in: number; refresh_expires_in?: number | null },
  refresh?: string,
): Promise<TokenResponse> {
  const { scopes, expires_in, refresh_expires_in } = given;
  // The exchange has happened, so an error of this read must not take the tokens from the client.
  const [read] = await Promise.allSettled([loadAuthority(context.services.db, digestOf(access))]);
  const now = read.status === 'fulfilled' && read.value?.proof ? read.value.authority : undefined;
  return {
    access_token: access,
    token_type: 'Bearer',
    expires_in,
    scope: scopes.join(' '),
    resource: resourceUri(context.services.baseUrl, context.the('resource')),
    ...(refresh !== undefined && refresh_expires_in != null && { refresh_token: refresh, refresh_expires_in }),
    ...(now && { scope_effective: effectiveOf(now) }),
  };
}
