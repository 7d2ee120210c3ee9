import type { Resource } from '../../core/authority.ts';
import type { DataAccess, Scope } from '../../core/scopes.ts';
import type { FairLimit } from '../../flow/fair-limit.ts';
import type { RateLimit, TokenBucket } from '../../flow/rate-limit.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { InstalledClient, Offer } from '../../store/sign-in/clients.ts';
import type { Holder, ProvedClient } from '../../store/sign-in/grants.ts';
import type { Person } from '../../store/sign-in/sessions.ts';
import type { ClientsByUrl } from './clients/by-url.ts';
import type { Client } from './clients/client.ts';
import { isClientUrl } from './clients/document.ts';
import type { InstalledClients } from './clients/installed.ts';
import type { Duration } from './durations.ts';
import { type Parameters, single } from './parameters.ts';

/**
 * The OAuth endpoints, in the order of the columns of the matrix in order.ts. `token` stands for a token request with
 * an unsupported grant type.
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

/** The endpoints that a person's browser asks for. The other endpoints are for clients. */
export const PAGES: readonly Endpoint[] = ['authorize', 'sign_in', 'sign_out', 'identity', 'consent'];

export interface OAuthRequest {
  /**
   * The parameters of an OAuth request. For /oauth/authorize and for the forms on its pages, the parameters come from
   * the query. For all other requests, the parameters come from the body. `undefined` means that the parameters are
   * malformed.
   */
  readonly parameters: Parameters | undefined;
  readonly form?: Parameters | undefined;
  readonly authorization: string | undefined;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  /** The secret in the session cookie. */
  readonly session: string | undefined;
  /** The IP address of the caller. */
  readonly source: string;
}

export interface Services {
  readonly baseUrl: string;
  readonly db: Database;
  readonly installed: InstalledClients;
  readonly byUrl: ClientsByUrl;
  /** Limits failed client authentications, separately for each network. */
  readonly failures: RateLimit;
  /**
   * Limits the store look-ups of each cached client. This limit applies only to networks with too many failed
   * authentications.
   */
  readonly lookups: RateLimit;
  /**
   * Limits the store look-ups of all clients that are not cached, in total for this process. This limit applies only to
   * networks with too many failed authentications.
   */
  readonly strangers: TokenBucket;
  /**
   * Runs the statements of clients by URL from networks with too many failed authentications: one at a time, and the
   * networks take turns.
   */
  readonly suspects: FairLimit;
  readonly skillScopes: readonly Scope[];
}

/** What a person has chosen on the consent page. */
export interface Choice {
  readonly scopes: readonly Scope[];
  readonly websites: Offer['websites'];
  /** True when an installed client may renew its access. */
  readonly renewable: boolean;
  /** The data access of a client by URL. */
  readonly dataAccess: readonly DataAccess[];
  /** How long a client by URL keeps its access. `undefined` if the person has not chosen a duration yet. */
  readonly duration: Duration | undefined;
}

export interface Facts {
  readonly client: Client;
  /** The host of a client id that is a URL, as the URL parser reads it. The operator's list can lack this host. */
  readonly clientHost: string;
  /** The proof that an installed client has authenticated. Every later statement for the client verifies it again. */
  readonly proof: ProvedClient;
  /** The client id of a client by URL that makes a token request. Such a request reads no document. */
  readonly clientUrl: string;
  readonly resource: Resource;
  readonly scopes: readonly Scope[];
  readonly sites: readonly string[];
  readonly redirectUri: string;
  readonly state: string;
  readonly challenge: string;
  readonly person: Person;
  /** What the signed-in person can grant to the client. */
  readonly offer: Offer;
  /** The version of the consent page when the page was shown (version.ts). */
  readonly shown: number;
  readonly choice: Choice;
  /** What the person pressed. After `tick`, the page is shown again with more or fewer ticks. */
  readonly pressed: 'approve' | 'tick';
  readonly consent: string;
  /** The credential and the consent of the code or token that a client by URL has presented. */
  readonly holder: Holder;
}

export class OAuthContext {
  readonly #facts: Partial<Facts> = {};
  /**
   * `by_url` if the client id is a URL. Such a client has no secret, so a token request with a header Authorization is
   * of the kind `installed`. On the pages for people, the header does not count, because a proxy in front of the
   * gateway can ask for it.
   */
  readonly kind: Client['kind'];

  constructor(
    readonly endpoint: Endpoint,
    readonly request: OAuthRequest,
    readonly services: Services,
  ) {
    const { parameters, authorization } = request;
    const id = parameters && single(parameters, 'client_id');
    const bare = authorization === undefined || PAGES.includes(endpoint);
    this.kind = id !== undefined && bare && isClientUrl(id) ? 'by_url' : 'installed';
  }

  learn<K extends keyof Facts>(name: K, value: Facts[K]): void {
    this.#facts[name] = value;
  }

  known<K extends keyof Facts>(name: K): Facts[K] | undefined {
    return this.#facts[name];
  }

  /**
   * Returns a fact about the request that an earlier rule has established. Throws if the order of the rules is wrong.
   */
  the<K extends keyof Facts>(name: K): Facts[K] {
    const value = this.#facts[name];
    if (value === undefined) throw new Error(`${this.endpoint} reads ${name} before its rule has run: check order.ts`);
    return value;
  }

  /** The client of a request that only an installed client can make. Throws if the order of the rules is wrong. */
  get installed(): InstalledClient {
    const client = this.the('client');
    if (client.kind !== 'installed') throw new Error(`${this.endpoint} is for installed clients: check order.ts`);
    return client;
  }
}

/**
 * One check of an OAuth request. A rule throws an OAuthError to refuse the request, or adds the facts that it has
 * established.
 */
export type Rule = (context: OAuthContext) => void | Promise<void>;
