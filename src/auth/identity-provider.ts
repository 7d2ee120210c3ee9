import * as client from 'openid-client';
import { Failure } from '../core/failures.ts';
import type { Identity } from './sign-in.ts';

/** What the browser keeps for us while the person is at the identity provider. */
export interface Kept {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Where people of an organization sign in instead of here: a provider of OpenID Connect. */
export interface IdentityProvider {
  /** Its host, for people to read. */
  readonly name: string;
  /** Where to send the browser. Throws `service_unavailable` when the provider cannot be reached. */
  begin(redirectUri: string): Promise<{ url: string; kept: Kept }>;
  /**
   * Who has come back, by the address with which the browser did: the redirect URI and the provider's parameters. Throws
   * NotVouchedFor, or `service_unavailable` when the provider cannot be reached or does not know this gateway.
   */
  finish(callback: URL, kept: Kept): Promise<Identity>;
}

/** The provider's answer proves nobody: refused there, not meant for this browser, forged, expired or used already. */
export class NotVouchedFor extends Error {
  override readonly name = 'NotVouchedFor';

  /** `code`: why, for the log. */
  constructor(readonly code: string) {
    super(code);
  }
}

export interface IdentitySettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Seconds for each request to the provider, while a person waits. */
const TIMEOUT = 5;
const RETRY_AFTER = 5;

/** Asks nobody anything before the first sign-in, and then only the issuer and the addresses that it names. */
export function openIdentityProvider({ issuer, clientId, clientSecret }: IdentitySettings): IdentityProvider {
  let discovered: Promise<client.Configuration> | undefined;
  const configuration = (): Promise<client.Configuration> => {
    discovered ??= discover({ issuer, clientId, clientSecret }).catch((error: unknown) => {
      discovered = undefined; // it may be there the next time
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
        const told = claims['email'] === undefined && config.serverMetadata().userinfo_endpoint !== undefined;
        const { email, email_verified } = told
          ? await client.fetchUserInfo(config, tokens.access_token, claims.sub)
          : claims;
        return {
          // Unique within its issuer only (OpenID Connect Core, section 2), and the issuer is a setting that can change.
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
  // The way that the provider names, else the one of OpenID Connect Discovery.
  const authenticate: client.ClientAuth = (server, ...rest) => {
    const basic = server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true;
    return (basic ? client.ClientSecretBasic : client.ClientSecretPost)(clientSecret)(server, ...rest);
  };
  return client.discovery(url, clientId, undefined, authenticate, {
    timeout: TIMEOUT,
    // The signature of an ID token is checked although it comes straight from the provider. http: config.ts lets it
    // through for loopback only.
    execute: [client.enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [client.allowInsecureRequests] : [])],
  });
}

/** The library's errors carry answers of the provider, with claims in them: only the kind of error may reach a log. */
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
  // A silent provider, an answer that is none (a proxy's page), or one to a client that it does not know.
  const failed = !(error instanceof client.ClientError) || FAILED.test(reasonOf(error));
  return failed && !denied && !spent
    ? unavailable(error)
    : new NotVouchedFor(denied || spent ? error.error : reasonOf(error));
}

const FAILED = /^OAUTH_(TIMEOUT|RESPONSE_IS_NOT_CONFORM|RESPONSE_IS_NOT_JSON|PARSE_ERROR)$/;
