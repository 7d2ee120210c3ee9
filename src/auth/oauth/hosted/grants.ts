import { createHmac, randomBytes } from 'node:crypto';
import { endHostedToken, insertHosted, redeemHosted, rotateHosted } from '../../../store/sign-in/hosted.ts';
import type { TokenEnd } from '../../../store/sign-in/oauth.ts';
import { newId } from '../../issue.ts';
import { digestOf, newSecret, secretFrom, wellFormed } from '../../tokens.ts';
import type { HostedChoice, OAuthContext } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { accepted, presented, type TokenResponse, tokenResponse } from '../grants.ts';
import { requestDigest } from '../rules/csrf.ts';
import { PageOutdated } from '../rules/selection.ts';
import { type Duration, idleOf } from './durations.ts';

/** The grants of a client without a secret. Each is one statement, which finds the client's credential by the client id. */
export const HOSTED_GRANTS = {
  async authorization_code(context: OAuthContext): Promise<TokenResponse> {
    const access = newSecret('access_live');
    const refresh = newSecret('refresh_live');
    const exchanged = await counted(context, async () =>
      accepted(
        await redeemHosted(context.services.db, context.the('publicClient'), {
          code: presented(context, 'code'),
          redirectUri: context.request.parameters?.get('redirect_uri')?.[0] ?? '',
          challenge: context.the('challenge'),
          audience: context.the('resource'),
          access: digestOf(access),
          refresh: digestOf(refresh),
        }),
      ),
    );
    return tokenResponse(context, access, exchanged, refresh);
  },

  async refresh_token(context: OAuthContext): Promise<TokenResponse> {
    const old = context.request.parameters?.get('refresh_token')?.[0] ?? '';
    const salt = randomBytes(32);
    const { access, refresh } = successors(old, salt);
    const { salt: used, ...exchanged } = await counted(context, async () =>
      accepted(
        await rotateHosted(context.services.db, context.the('publicClient'), {
          token: presented(context, 'refresh_token'),
          audience: context.the('resource'),
          scopes: context.known('scopes') ?? null,
          salt,
          access: digestOf(access),
          refresh: digestOf(refresh),
        }),
      ),
    );
    // The salt differs when the request repeats an earlier request. The old token then gives the tokens of the first
    // answer again.
    const given = successors(old, Buffer.from(used ?? '', 'hex'));
    return tokenResponse(context, given.access, exchanged, given.refresh);
  },
};

export function revokeHosted(context: OAuthContext): Promise<TokenEnd | undefined> {
  const token = context.request.parameters?.get('token')?.[0] ?? '';
  if (!wellFormed(token)) return Promise.resolve(undefined);
  return endHostedToken(context.services.db, context.the('publicClient'), digestOf(token));
}

/** Records the approval of a hosted client and returns the authorization code. Throws PageOutdated as `approve` does. */
export async function approveHosted(
  context: OAuthContext,
  { scopes, sites, dataAccess }: HostedChoice,
  duration: Duration,
): Promise<string> {
  const code = newSecret('code');
  const id = newId('cns');
  const { url, host, name } = context.the('hosted');
  const done = await insertHosted(context.services.db, {
    id,
    app: newId('app'),
    installation: newId('ins'),
    credential: newId('crd'),
    secret: digestOf(newSecret('secret')),
    client: url,
    host,
    name: [...name.trim()].slice(0, NAME_MAX).join(''),
    session: digestOf(context.request.session ?? ''),
    request: requestDigest(context),
    audience: context.the('resource'),
    scopes,
    sites,
    dataAccess,
    lasts: duration.seconds,
    idle: idleOf(duration),
    code: digestOf(code),
    challenge: context.the('challenge'),
    redirectUri: context.the('redirectUri'),
  });
  if (!done) throw new PageOutdated();
  context.learn('consent', id);
  return code;
}

/** Longest name of an app, in Unicode characters. */
const NAME_MAX = 120;

/**
 * The tokens that follow a refresh token. They are derived from the old token, so the gateway can give a lost answer
 * again although the store has only digests. Without the old token, nobody can derive them from the salt.
 */
function successors(old: string, salt: Buffer): { access: string; refresh: string } {
  const derived = (purpose: string): Buffer => createHmac('sha256', old).update(purpose).update(salt).digest();
  return {
    access: secretFrom('access_live', derived('access')),
    refresh: secretFrom('refresh_live', derived('refresh')),
  };
}

/** Counts a code or refresh token that is not valid as a failed authentication of the caller's address. */
async function counted<T>({ services, request }: OAuthContext, exchange: () => Promise<T>): Promise<T> {
  try {
    return await exchange();
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_grant') services.failures.failed(request.source);
    throw error;
  }
}
