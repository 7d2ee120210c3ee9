import type { Resource } from '../../core/authority.ts';
import type { Scope } from '../../core/scopes.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { Client, Proved } from '../../store/sign-in/oauth.ts';
import type { Person } from '../../store/sign-in/sessions.ts';
import type { Bucket, Throttle } from '../throttle.ts';
import type { Clients } from './clients.ts';
import type { Parameters } from './parameters.ts';

/** Columns of the matrix in order.ts. `token`: a token request whose grant type is none of ours. */
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

/** A request as its surface has read it from the wire. */
export interface OAuthRequest {
  /** Of the query of /oauth/authorize and its forms, or the form of the others; `undefined`: not well formed. */
  readonly parameters: Parameters | undefined;
  /** What a page's form sent. */
  readonly form?: Parameters | undefined;
  readonly authorization: string | undefined;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  /** Secret of the session cookie. */
  readonly session: string | undefined;
  /** Address that the request came from. */
  readonly source: string;
}

export interface Services {
  readonly baseUrl: string;
  readonly db: Database;
  readonly clients: Clients;
  /** Failed authentications by address. */
  readonly failures: Throttle;
  /** Look-ups all the same, of clients that are remembered, by credential. */
  readonly lookups: Throttle;
  /** Look-ups all the same, of everybody else together. */
  readonly strangers: Bucket;
  readonly skillScopes: readonly Scope[];
}

/** What a person has chosen on the consent page. */
export interface Choice {
  readonly scopes: readonly Scope[];
  readonly sites: readonly string[];
  readonly renewable: boolean;
}

/** What the rules have found out, each under its name. */
export interface Facts {
  readonly client: Client;
  /** What is done for the client is done only while this still stands. */
  readonly proof: Proved;
  readonly resource: Resource;
  readonly scopes: readonly Scope[];
  readonly sites: readonly string[];
  readonly redirectUri: string;
  readonly state: string;
  readonly challenge: string;
  readonly person: Person;
  /** Revision of the credential that the consent page was made of. */
  readonly shown: number;
  readonly choice: Choice;
  /** Id of the consent that was given. */
  readonly consent: string;
}

/** One request on its way through the rules of its column. */
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

  /** `undefined` until its rule has run. */
  known<K extends keyof Facts>(name: K): Facts[K] | undefined {
    return this.#facts[name];
  }

  /** A fact that the order of the rules promises. */
  the<K extends keyof Facts>(name: K): Facts[K] {
    const value = this.#facts[name];
    if (value === undefined) throw new Error(`${this.endpoint} asks for ${name} before its rule has run`);
    return value;
  }
}

/** Throws the OAuthError of what it refuses; learns what it proves. */
export type Rule = (context: OAuthContext) => void | Promise<void>;
