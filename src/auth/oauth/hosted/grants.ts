import { createHmac, randomBytes } from 'node:crypto';
import {
  endHostedToken,
  type Holder,
  insertHosted,
  redeemHosted,
  rotateHosted,
} from '../../../store/sign-in/hosted.ts';
import type { Exchanged, TokenEnd } from '../../../store/sign-in/oauth.ts';
import { newId } from '../../issue.ts';
import { networkOf } from '../../network.ts';
import { digestOf, newSecret, secretFrom, wellFormed } from '../../tokens.ts';
import { QueueFull } from '../../work-queue.ts';
import type { HostedChoice, OAuthContext } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { accepted, requestOf, type TokenResponse, tokenResponse } from '../grants.ts';
import { PageOutdated } from '../rules/selection.ts';
import { type Duration, idleOf } from './durations.ts';

/** The grants of a client without a secret. The store finds the client's credential by the client id. */
export const HOSTED_GRANTS = {
  async authorization_code(context: OAuthContext): Promise<TokenResponse> {
    const access = newSecret('access_live');
    const refresh = newSecret('refresh_live');
    const exchanged = await exchange(context, 'code', (code) =>
      redeemHosted(context.services.db, context.the('publicClient'), {
        code,
        redirectUri: context.request.parameters?.get('redirect_uri')?.[0] ?? '',
        challenge: context.the('challenge'),
        audience: context.the('resource'),
        access: digestOf(access),
        refresh: digestOf(refresh),
      }),
    );
    return tokenResponse(context, access, exchanged, refresh);
  },

  async refresh_token(context: OAuthContext): Promise<TokenResponse> {
    const old = context.request.parameters?.get('refresh_token')?.[0] ?? '';
    const salt = randomBytes(32);
    const { access, refresh } = successors(old, salt);
    const { salt: used, ...exchanged } = await exchange(context, 'refresh_token', (token) =>
      rotateHosted(context.services.db, context.the('publicClient'), {
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
    const given = successors(old, Buffer.from(used ?? '', 'hex'));
    return tokenResponse(context, given.access, exchanged, given.refresh);
  },
};

/**
 * Ends the token in the request. An unknown token is no error (RFC 7009, section 2.2), but it counts as a failure of
 * the caller's address. When the address has failed too often, the request is refused.
 */
export async function revokeHosted(context: OAuthContext): Promise<TokenEnd | undefined> {
  const { db, failures } = context.services;
  const wait = failures.wait(context.request.source);
  const ended = await judged(
    context,
    'token',
    (token) => endHostedToken(db, context.the('publicClient'), token),
    ({ what }) => what !== 'nothing',
  );
  if (ended && ended.what !== 'nothing') return ended;
  if (wait > 0) throw new OAuthError('slow_down', { secret: false, retryAfter: wait });
  return undefined;
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
    ...requestOf(context, code),
    scopes,
    sites,
    dataAccess,
    lasts: duration.seconds,
    idle: idleOf(duration),
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

async function exchange<E extends Exchanged & Holder>(
  context: OAuthContext,
  name: 'code' | 'refresh_token',
  run: (digest: Buffer) => Promise<E>,
): Promise<Exclude<E, { refused: unknown }>> {
  const valid = (exchanged: E): boolean => !('refused' in exchanged) || exchanged.refused !== 'invalid_grant';
  const exchanged = await judged(context, name, run, valid);
  if (!exchanged) throw new OAuthError('invalid_grant');
  return accepted(exchanged, false);
}

/**
 * Runs the statement for a code or token that a caller presents. Counts a code or token that is not valid as a failure
 * of the caller's address. Returns `undefined` for a malformed text, which costs no statement.
 *
 * Only the statement knows whether a code or token is valid. All people of a web client such as Claude share a few
 * addresses. Therefore no number of failures may stop the statement. Instead, addresses with too many failures share
 * one place in this process and take turns. A flood of invalid tokens then uses at most one connection.
 */
async function judged<Result extends Holder>(
  context: OAuthContext,
  name: 'code' | 'refresh_token' | 'token',
  run: (digest: Buffer) => Promise<Result>,
  valid: (result: Result) => boolean,
): Promise<Result | undefined> {
  const { request, services } = context;
  const { failures, suspects } = services;
  const wait = failures.wait(request.source);
  const forgive = (): void => {
    if (wait === 0) failures.succeeded(request.source);
  };
  // The attempt counts as failed before the statement. Otherwise a thousand parallel attempts could all pass the limit.
  failures.failed(request.source);
  const secret = request.parameters?.get(name)?.[0] ?? '';
  if (!wellFormed(secret)) return undefined;
  const work = (): Promise<Result> => run(digestOf(secret));
  try {
    const result = await (wait === 0 ? work() : suspects.run(networkOf(request.source), work));
    context.learn('holder', result);
    if (valid(result)) forgive();
    return result;
  } catch (error) {
    if (error instanceof QueueFull) throw new OAuthError('slow_down', { secret: false, retryAfter: 1 });
    // The store failed, not the client.
    forgive();
    throw error;
  }
}
