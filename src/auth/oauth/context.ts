import type { Resource } from '../../core/authority.ts';
import type { Scope } from '../../core/scopes.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { Client, Proved } from '../../store/sign-in/oauth.ts';
import type { Person } from '../../store/sign-in/sessions.ts';
import type { Bucket, Throttle } from '../throttle.ts';
import type { Clients } from './clients.ts';
import type { Parameters } from './parameters.ts';

/** Columns of the matrix in order.ts. `token`: a token request with an unsupported grant type. */
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

/** A request as the surface has read it from the wire. */
export interface OAuthRequest {
  /**
   * Parameters of the query, for /oauth/authorize and the forms of its pages; of the body, for the other endpoints.
   * `undefined`: they are malformed.
   */
  readonly parameters: Parameters | undefined;
  /** Fields of the form of a page. */
  readonly form?: Parameters | undefined;
  readonly authorization: string | undefined;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  /** Secret of the session cookie. */
  readonly session: string | undefined;
  /** Address of the caller. */
  readonly source: string;
}

export interface Services {
  readonly baseUrl: string;
  readonly db: Database;
  readonly clients: Clients;
  /** Failed client authentications by address. */
  readonly failures: Throttle;
  /** Budget by credential: look-ups of cached clients from addresses that have failed too often. */
  readonly lookups: Throttle;
  /** Budget of the whole process: look-ups of all other clients from such addresses. */
  readonly strangers: Bucket;
  readonly skillScopes: readonly Scope[];
}

/** The choice of a person on the consent page. */
export interface Choice {
  readonly scopes: readonly Scope[];
  readonly sites: readonly string[];
  readonly renewable: boolean;
}

/** Facts that the rules have established. Each rule adds its own. */
export interface Facts {
  readonly client: Client;
  /** Proof that the client authenticated. Every later statement for the client verifies it again. */
  readonly proof: Proved;
  readonly resource: Resource;
  readonly scopes: readonly Scope[];
  readonly sites: readonly string[];
  readonly redirectUri: string;
  readonly state: string;
  readonly challenge: string;
  readonly person: Person;
  /** Revision of the credential that the consent page showed. */
  readonly shown: number;
  readonly choice: Choice;
  /** Id of the new consent. */
  readonly consent: string;
}

/** One request, and the facts that the rules of its endpoint have established about it. */
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

  /** A fact; `undefined` until its rule has run. */
  known<K extends keyof Facts>(name: K): Facts[K] | undefined {
    return this.#facts[name];
  }

  /** A fact whose rule has already run, by the order of the rules. */
  the<K extends keyof Facts>(name: K): Facts[K] {
    const value = this.#facts[name];
    if (value === undefined) throw new Error(`${this.endpoint} reads ${name} before its rule has run: check order.ts`);
    return value;
  }
}

/** One check. Throws an OAuthError to refuse the request, and adds the facts that it establishes. */
export type Rule = (context: OAuthContext) => void | Promise<void>;
