import * as client from 'openid-client';
import { Failure } from '../core/failures.ts';
import type { Identity } from './sign-in.ts';

/** Values that the browser keeps for us while the person is at the identity provider. */
export interface Kept {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** An OpenID Connect provider, where people of an organization sign in instead of with a password. */
export interface IdentityProvider {
  /** Host of the provider, for people to read. */
  readonly name: string;
  /** Returns the URL to send the browser to. Throws `service_unavailable` if the provider cannot be reached. */
  begin(redirectUri: string): Promise<{ url: string; kept: Kept }>;
  /**
   * Returns the identity of the person who came back. `callback` is the redirect URI with the provider's parameters.
   * Throws NotVouchedFor, or `service_unavailable` if the provider cannot be reached or does not know this gateway.
   */
  finish(callback: URL, kept: Kept): Promise<Identity>;
}

/** The provider's answer proves no identity: it is a refusal, for another browser, forged, expired or already used. */
export class NotVouchedFor extends Error {
  override readonly name = 'NotVouchedFor';

  /** `code`: the reason, for the log. */
  constructor(readonly code: string) {
    super(code);
  }
}

export interface IdentitySettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Timeout of each request to the provider, in seconds. A person waits for it. */
const TIMEOUT = 5;
const RETRY_AFTER = 5;

/** Opens the provider. Requests begin with the first sign-in, and go only to the issuer and the URLs that it names. */
export function openIdentityProvider({ issuer, clientId, clientSecret }: IdentitySettings): IdentityProvider {
  let discovered: Promise<client.Configuration> | undefined;
  const configuration = (): Promise<client.Configuration> => {
    discovered ??= discover({ issuer, clientId, clientSecret }).catch((error: unknown) => {
      discovered = undefined; // try again at the next sign-in
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
          // `sub` is unique only within its issuer (OpenID Connect Core, section 2), and the issuer setting can change.
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
  // Without metadata about the method, OpenID Connect Discovery prescribes client_secret_basic.
  const authenticate: client.ClientAuth = (server, ...rest) => {
    const basic = server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true;
    return (basic ? client.ClientSecretBasic : client.ClientSecretPost)(clientSecret)(server, ...rest);
  };
  return client.discovery(url, clientId, undefined, authenticate, {
    timeout: TIMEOUT,
    // Check the signature of an ID token although it comes directly from the provider. http: the configuration permits
    // an http issuer on loopback only.
    execute: [client.enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [client.allowInsecureRequests] : [])],
  });
}

/**
 * The kind of an error. Only it may reach a log, because the library's errors hold answers of the provider with claims.
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
  // The provider did not answer, a proxy answered with a page of its own, or the provider does not know this client.
  const failed = !(error instanceof client.ClientError) || FAILED.test(reasonOf(error));
  return failed && !denied && !spent
    ? unavailable(error)
    : new NotVouchedFor(denied || spent ? error.error : reasonOf(error));
}

const FAILED = /^OAUTH_(TIMEOUT|RESPONSE_IS_NOT_CONFORM|RESPONSE_IS_NOT_JSON|PARSE_ERROR)$/;
