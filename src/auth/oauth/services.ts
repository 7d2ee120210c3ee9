import { FairLimit } from '../../flow/fair-limit.ts';
import { RateLimit, TokenBucket } from '../../flow/rate-limit.ts';
import { type ClientsByUrlOptions, openClientsByUrl } from './clients/by-url.ts';
import { openInstalled } from './clients/installed.ts';
import type { Services } from './context.ts';

const FAILURES = { perMinute: 60, burst: 60 };
const LOOKUPS = { perMinute: 6, burst: 6 };
/**
 * The limit for look-ups of clients that are not cached, on average 5 look-ups a second. Five look-ups take a
 * thousandth of the time of one database connection.
 */
const STRANGERS = { perMinute: 300, burst: 60 };
/** The place that addresses with too many invalid tokens share (present.ts), and how many requests may wait for it. */
const SUSPECTS = { atOnce: 1, waiting: 200 };

export interface OAuthOptions extends Pick<Services, 'baseUrl' | 'db' | 'skillScopes'> {
  /** Which clients by URL are believed. Without this option, there are none. */
  readonly byUrl?: ClientsByUrlOptions;
}

const NONE: ClientsByUrlOptions = { hosts: [], longest: 0, fetch: async () => undefined };

export const openOAuth = (options: OAuthOptions): Services => ({
  ...options,
  installed: openInstalled(options.db),
  byUrl: openClientsByUrl(options.byUrl ?? NONE),
  failures: new RateLimit(FAILURES),
  lookups: new RateLimit(LOOKUPS),
  strangers: new TokenBucket(STRANGERS),
  suspects: new FairLimit(SUSPECTS),
});
