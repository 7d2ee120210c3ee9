import * as client from 'openid-client';
import { Failure } from '../core/failures.ts';
import { once } from '../flow/once.ts';
import { fetchFromProvider } from '../outbound/identity-fetch.ts';
import { NotVouchedFor } from './not-vouched-for.ts';
import type { Identity } from './sign-in.ts';

/** Values that the browser keeps for the gateway while the person signs in at the identity provider. */
export interface Kept {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface IdentityProvider {
  readonly name: string;
  /**
   * Returns the URL at the identity provider to which the browser must go. Throws `service_unavailable` if the provider
   * cannot be reached.
   */
  begin(redirectUri: string): Promise<{ url: string; kept: Kept }>;
  /**
   * Returns the identity of the person who came back from the identity provider. `callback` is the redirect URI with
   * the parameters that the provider added. Throws NotVouchedFor if the provider's answer proves no identity. Throws
   * `service_unavailable` if the provider cannot be reached or does not know this gateway.
   */
  finish(callback: URL, kept: Kept): Promise<Identity>;
}

export interface IdentitySettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * Seconds until a request to the identity provider times out. The time is short, because a person waits for the answer.
 */
const TIMEOUT = 5;
const RETRY_AFTER = 5;

/**
 * Prepares the identity provider but sends no request. The first sign-in sends the first request. Requests go only to
 * the issuer and to URLs in the issuer's metadata.
 */
export function openIdentityProvider({ issuer, clientId, clientSecret }: IdentitySettings): IdentityProvider {
  // If it fails, the next sign-in asks the provider again.
  const configuration = once(() =>
    discover({ issuer, clientId, clientSecret }).catch((error: unknown) => {
      throw unavailable(error);
    }),
  );

  return {
    name: new URL(issuer).host,
    async begin(redirectUri) {
      const config = await configuration();
      const kept = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      };
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid email',
        state: kept.state,
        nonce: kept.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(kept.verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, kept };
    },
    async finish(callback, { state, nonce, verifier }) {
      const config = await configuration();
      try {
        const tokens = await client.authorizationCodeGrant(config, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (!claims) throw new NotVouchedFor('no ID token');
        const fromUserInfo = claims['email'] === undefined && config.serverMetadata().userinfo_endpoint !== undefined;
        const { email, email_verified } = fromUserInfo
          ? await client.fetchUserInfo(config, tokens.access_token, claims.sub)
          : claims;
        return {
          // A `sub` claim is unique only within its issuer (OpenID Connect Core, section 2). The operator can change
          // the setting of the issuer. So the subject consists of the issuer and the `sub` claim.
          subject: `${claims.iss} ${claims.sub}`,
          email: email_verified === true && typeof email === 'string' ? email : undefined,
        };
      } catch (error) {
        throw refused(error);
      }
    },
  };
}

async function discover({ issuer, clientId, clientSecret }: IdentitySettings): Promise<client.Configuration> {
  const url = new URL(issuer);
  // If the provider's metadata names no authentication method for clients, client_secret_basic is the default (OpenID
  // Connect Discovery).
  const authenticate: client.ClientAuth = (server, ...rest) => {
    const basic = server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true;
    return (basic ? client.ClientSecretBasic : client.ClientSecretPost)(clientSecret)(server, ...rest);
  };
  return client.discovery(url, clientId, undefined, authenticate, {
    timeout: TIMEOUT,
    [client.customFetch]: fetchFromProvider,
    // The signature of the ID token is checked, although the token comes directly from the provider. Plain http is
    // possible only for an issuer on loopback, because the configuration refuses every other http issuer.
    execute: [client.enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [client.allowInsecureRequests] : [])],
  });
}

/**
 * Returns the code or the name of an error. Nothing else of the error may reach a log, because library errors contain
 * claims from the provider's answers.
 */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
};

const unavailable = (error: unknown): Failure =>
  new Failure('service_unavailable', {
    retryAfter: RETRY_AFTER,
    cause: Object.assign(new Error('identity provider'), { code: reasonOf(error) }),
  });

function refused(error: unknown): Error {
  if (error instanceof NotVouchedFor) return error;
  const denied = error instanceof client.AuthorizationResponseError;
  const spent = error instanceof client.ResponseBodyError && error.error === 'invalid_grant';
  // The provider is unavailable when it does not answer, when a proxy answers for it, or when it does not know this
  // gateway.
  const failed = !(error instanceof client.ClientError) || FAILED.test(reasonOf(error));
  return failed && !denied && !spent
    ? unavailable(error)
    : new NotVouchedFor(denied || spent ? error.error : reasonOf(error));
}

const FAILED = /^OAUTH_(TIMEOUT|RESPONSE_IS_NOT_CONFORM|RESPONSE_IS_NOT_JSON|PARSE_ERROR)$/;
