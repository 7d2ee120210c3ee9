import type { Resource } from '../../core/authority.ts';
import type { DataAccess, Scope } from '../../core/scopes.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { Holder, Offer } from '../../store/sign-in/hosted.ts';
import type { Client, Proved } from '../../store/sign-in/oauth.ts';
import type { Person } from '../../store/sign-in/sessions.ts';
import type { Bucket, Throttle } from '../throttle.ts';
import type { WorkQueue } from '../work-queue.ts';
import type { Clients } from './clients.ts';
import { type HostedClients, isClientUrl } from './hosted/clients.ts';
import type { HostedClient } from './hosted/document.ts';
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
  /** Id of the record whose page asks for the sign-in. Absent for an authorization request. */
  readonly record?: string;
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
  readonly clients: Clients;
  readonly hosted: HostedClients;
  /** Limits failed client authentications, separately for each network. */
  readonly failures: Throttle;
  /**
   * Limits the store look-ups of each cached client. This limit applies only to networks with too many failed
   * authentications.
   */
  readonly lookups: Throttle;
  /**
   * Limits the store look-ups of all clients that are not cached, in total for this process. This limit applies only to
   * networks with too many failed authentications.
   */
  readonly strangers: Bucket;
  /**
   * Runs the statements of hosted clients from networks with too many failed authentications: one at a time, and the
   * networks take turns.
   */
  readonly suspects: WorkQueue;
  readonly skillScopes: readonly Scope[];
}

export interface Choice {
  readonly scopes: readonly Scope[];
  readonly sites: readonly string[];
  readonly renewable: boolean;
}

/** What a person has chosen for a hosted client. */
export interface HostedChoice {
  readonly scopes: readonly Scope[];
  readonly sites: readonly string[];
  readonly dataAccess: readonly DataAccess[];
  /** The name of the chosen duration (hosted/durations.ts). `undefined` if the person has not chosen one yet. */
  readonly duration: string | undefined;
}

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
  /** The revision that the credential had when the consent page was shown. */
  readonly shown: number;
  readonly choice: Choice;
  /** What the person pressed. After `tick`, the page is shown again with more or fewer ticks. */
  readonly pressed: 'approve' | 'tick';
  readonly consent: string;
  /** The host of a client id that is a URL, as the URL parser reads it. The operator's list can lack this host. */
  readonly clientHost: string;
  /** The hosted client, as its document describes it. Known only before a token request. */
  readonly hosted: HostedClient;
  /** The client id of a hosted client that makes a token request. */
  readonly publicClient: string;
  /** The credential and the consent of the code or token that a hosted client has presented. */
  readonly holder: Holder;
  /** What the signed-in person can grant to a hosted client. */
  readonly offer: Offer;
  readonly hostedChoice: HostedChoice;
}

export class OAuthContext {
  readonly #facts: Partial<Facts> = {};

  constructor(
    readonly endpoint: Endpoint,
    readonly request: OAuthRequest,
    readonly services: Services,
  ) {}

  /**
   * `record` on the page of a record, which has no client. `hosted` if the client id is a URL. Such a client has no
   * secret, so a token request with a header Authorization is of the kind `issued`. On the pages for people, the header
   * does not count, because a proxy in front of the gateway can ask for it. Each kind has its own matrix in order.ts.
   */
  get kind(): 'issued' | 'hosted' | 'record' {
    const { parameters, authorization, record } = this.request;
    if (record !== undefined) return 'record';
    const id = parameters && single(parameters, 'client_id');
    const bare = authorization === undefined || PAGES.includes(this.endpoint);
    return id !== undefined && bare && isClientUrl(id) ? 'hosted' : 'issued';
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
}

/**
 * One check of an OAuth request. A rule throws an OAuthError to refuse the request, or adds the facts that it has
 * established.
 */
export type Rule = (context: OAuthContext) => void | Promise<void>;
