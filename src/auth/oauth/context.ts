import type { Resource } from '../../core/authority.ts';
import type { Scope } from '../../core/scopes.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { Client, Proved } from '../../store/sign-in/oauth.ts';
import type { Person } from '../../store/sign-in/sessions.ts';
import type { Bucket, Throttle } from '../throttle.ts';
import type { Clients } from './clients.ts';
import type { Parameters } from './parameters.ts';

/**
 * The endpoints are the columns of the matrix in order.ts. `token` is a token request with an unsupported grant type.
 */
export const ENDPOINTS = [
  'authorize',
  'sign_in',
  'sign_out',
  'identity',
  'consent',
  'token',
  'client_credentials',
  'authorization_code',
  'refresh_token',
  'revoke',
] as const;
export type Endpoint = (typeof ENDPOINTS)[number];

/** An OAuth request as the surface has read it from the wire. */
export interface OAuthRequest {
  /**
   * The parameters of the request. Requests to /oauth/authorize and from its forms have them in the query, others in
   * the body. `undefined` means that the parameters are malformed.
   */
  readonly parameters: Parameters | undefined;
  /** The fields of a submitted form of an OAuth page. */
  readonly form?: Parameters | undefined;
  readonly authorization: string | undefined;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  /** The secret of the session cookie. */
  readonly session: string | undefined;
  /** The IP address of the caller. */
  readonly source: string;
}

export interface Services {
  readonly baseUrl: string;
  readonly db: Database;
  readonly clients: Clients;
  /** Limits failed client authentications by address. */
  readonly failures: Throttle;
  /** Limits look-ups of cached clients, by credential. It applies to addresses that have failed too often. */
  readonly lookups: Throttle;
  /**
   * Limits look-ups of all other clients, for the whole process. It applies to addresses that have failed too often.
   */
  readonly strangers: Bucket;
  readonly skillScopes: readonly Scope[];
}

/** The choices of a person on the consent page. */
export interface Choice {
  readonly scopes: readonly Scope[];
  readonly sites: readonly string[];
  readonly renewable: boolean;
}

/** Facts about a request that the OAuth rules have established. Each rule adds its own facts. */
export interface Facts {
  readonly client: Client;
  /** The proof that the client has authenticated. Every later statement for the client verifies this proof again. */
  readonly proof: Proved;
  readonly resource: Resource;
  readonly scopes: readonly Scope[];
  readonly sites: readonly string[];
  readonly redirectUri: string;
  readonly state: string;
  readonly challenge: string;
  readonly person: Person;
  /** The revision of the credential that the consent page showed. */
  readonly shown: number;
  readonly choice: Choice;
  /** The id of the new consent. */
  readonly consent: string;
}

/** One OAuth request, and the facts that the rules of its endpoint have established. */
export class OAuthContext {
  readonly #facts: Partial<Facts> = {};

  constructor(
    readonly endpoint: Endpoint,
    readonly request: OAuthRequest,
    readonly services: Services,
  ) {}

  learn<K extends keyof Facts>(name: K, value: Facts[K]): void {
    this.#facts[name] = value;
  }

  /** Returns a fact about the request. Returns `undefined` if the rule for this fact has not run. */
  known<K extends keyof Facts>(name: K): Facts[K] | undefined {
    return this.#facts[name];
  }

  /** Returns a fact about the request. The order of the rules ensures that the rule for this fact has already run. */
  the<K extends keyof Facts>(name: K): Facts[K] {
    const value = this.#facts[name];
    if (value === undefined) throw new Error(`${this.endpoint} reads ${name} before its rule has run: check order.ts`);
    return value;
  }
}

/**
 * One check of an OAuth request. A rule throws an OAuthError to refuse the request. Otherwise the rule adds the facts
 * that it has established.
 */
export type Rule = (context: OAuthContext) => void | Promise<void>;
