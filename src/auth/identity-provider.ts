import * as client from 'openid-client';
import { Failure } from '../core/failures.ts';
import type { Identity } from './sign-in.ts';

/** Values that the browser keeps for the gateway while the person signs in at the identity provider. */
export interface Kept {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** An OpenID Connect provider. People of an organization can sign in at the provider instead of with a password. */
export interface IdentityProvider {
  /** The host name of the provider, to show to people. */
  readonly name: string;
  /** Returns the provider's URL for the browser. Throws `service_unavailable` if the provider cannot be reached. */
  begin(redirectUri: string): Promise<{ url: string; kept: Kept }>;
  /**
   * Returns the identity of the person who came back from the provider. `callback` is the redirect URI with the
   * provider's parameters. Throws NotVouchedFor if the provider's answer proves no identity. Throws
   * `service_unavailable` if the provider cannot be reached or does not know this gateway.
   */
  finish(callback: URL, kept: Kept): Promise<Identity>;
}

/**
 * The provider's answer proves no identity. It is a refusal, belongs to another browser, is forged, expired or already
 * used.
 */
export class NotVouchedFor extends Error {
  override readonly name = 'NotVouchedFor';

  /** `code` is the reason of the failure, for the log. */
  constructor(readonly code: string) {
    super(code);
  }
}

export interface IdentitySettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Timeout of each request to the provider, in seconds. It is short, because a person waits for the answer. */
const TIMEOUT = 5;
const RETRY_AFTER = 5;

/**
 * Opens the provider without a request. The first sign-in makes the first request. Requests go only to the issuer and
 * to the URLs that the issuer names.
 */
export function openIdentityProvider({ issuer, clientId, clientSecret }: IdentitySettings): IdentityProvider {
  let discovered: Promise<client.Configuration> | undefined;
  const configuration = (): Promise<client.Configuration> => {
    discovered ??= discover({ issuer, clientId, clientSecret }).catch((error: unknown) => {
      discovered = undefined; // the next sign-in tries again
      throw unavailable(error);
    });
    return discovered;
  };

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
          // A `sub` claim is unique only within its issuer (OpenID Connect Core, section 2). The setting of the issuer
          // can change, so the subject contains the issuer too.
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
  // If the provider's metadata names no authentication method, OpenID Connect Discovery prescribes client_secret_basic.
  const authenticate: client.ClientAuth = (server, ...rest) => {
    const basic = server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true;
    return (basic ? client.ClientSecretBasic : client.ClientSecretPost)(clientSecret)(server, ...rest);
  };
  return client.discovery(url, clientId, undefined, authenticate, {
    timeout: TIMEOUT,
    // Check the signature of the ID token, although the token comes directly from the provider. An issuer with http is
    // on loopback, because the configuration permits no other.
    execute: [client.enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [client.allowInsecureRequests] : [])],
  });
}

/**
 * Returns the kind of an error. Only the kind may reach a log, because library errors contain claims of the provider's
 * answers.
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
  // The provider is unavailable in three cases: no answer, the answer of a proxy, or a provider that does not know this
  // gateway.
  const failed = !(error instanceof client.ClientError) || FAILED.test(reasonOf(error));
  return failed && !denied && !spent
    ? unavailable(error)
    : new NotVouchedFor(denied || spent ? error.error : reasonOf(error));
}

const FAILED = /^OAUTH_(TIMEOUT|RESPONSE_IS_NOT_CONFORM|RESPONSE_IS_NOT_JSON|PARSE_ERROR)$/;
