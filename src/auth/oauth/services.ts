import type { Scope } from '../../core/scopes.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { Bucket, Throttle } from '../throttle.ts';
import { WorkQueue } from '../work-queue.ts';
import { openClients } from './clients.ts';
import type { Services } from './context.ts';
import { type HostedOptions, openHosted } from './hosted/clients.ts';

const FAILURES = { perMinute: 60, burst: 60 };
const LOOKUPS = { perMinute: 6, burst: 6 };
/**
 * The limit for look-ups of clients that are not cached, on average 5 look-ups a second. Five look-ups take a
 * thousandth of the time of one database connection.
 */
const STRANGERS = { perMinute: 300, burst: 60 };
/** The place that addresses with too many invalid tokens share (hosted/grants.ts), and how many requests may wait for it. */
const SUSPECTS = { atOnce: 1, waiting: 200 };

export interface OAuthOptions {
  readonly baseUrl: string;
  readonly db: Database;
  readonly skillScopes: readonly Scope[];
  /** Which hosted clients are believed. Without this option, there are none. */
  readonly hosted?: HostedOptions;
}

const NONE: HostedOptions = { hosts: [], longest: 0, fetch: async () => undefined };

export const openOAuth = (options: OAuthOptions): Services => ({
  ...options,
  clients: openClients(options.db),
  hosted: openHosted(options.hosted ?? NONE),
  failures: new Throttle(FAILURES),
  lookups: new Throttle(LOOKUPS),
  strangers: new Bucket(STRANGERS),
  suspects: new WorkQueue(SUSPECTS),
});
