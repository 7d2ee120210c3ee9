import type { Scope } from '../../core/scopes.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { Bucket, Throttle } from '../throttle.ts';
import { openClients } from './clients.ts';
import type { Services } from './context.ts';

/** The limit for failed client authentications of one address. */
const FAILURES = { perMinute: 60, burst: 60 };
/** The limit for look-ups of one cached credential. It applies to addresses that have failed too often. */
const LOOKUPS = { perMinute: 6, burst: 6 };
/**
 * The limit for look-ups of all other clients, for the whole process. It applies to addresses that have failed too
 * often. Five look-ups a second use a thousandth of a connection.
 */
const STRANGERS = { perMinute: 300, burst: 60 };

export interface OAuthOptions {
  readonly baseUrl: string;
  readonly db: Database;
  /** The scopes that the A2A skills need. */
  readonly skillScopes: readonly Scope[];
}

/** Opens the services that all OAuth endpoints of one process share. */
export const openOAuth = (options: OAuthOptions): Services => ({
  ...options,
  clients: openClients(options.db),
  failures: new Throttle(FAILURES),
  lookups: new Throttle(LOOKUPS),
  strangers: new Bucket(STRANGERS),
});
