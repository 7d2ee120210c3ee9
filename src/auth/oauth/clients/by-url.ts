import { keepNewest } from '../../../flow/newest.ts';
import { RateLimit, TokenBucket } from '../../../flow/rate-limit.ts';
import type { DocumentFetcher } from '../../../outbound/documents.ts';
import { OAuthError } from '../errors.ts';
import { type ClientByUrl, clientOf, isClientUrl } from './document.ts';
import type { DocumentRule } from './document-rules.ts';
import { WELL_KNOWN } from './well-known.ts';

export interface ClientsByUrlOptions {
  /** The hosts whose documents are believed, without ports. `*` stands for every host. */
  readonly hosts: readonly string[];
  /** The longest time of a consent, in seconds. */
  readonly longest: number;
  readonly fetch: DocumentFetcher;
}

export interface ClientsByUrl {
  readonly longest: number;
  /** True when at least one host is believed. */
  readonly offered: boolean;
  /** True when the URL is in its normal form and its host is believed. Sends no request. */
  believed(url: string): boolean;
  /**
   * The client that the document at this URL describes, or the rule that the document breaks. `from` is the IP address
   * of the person. Throws an OAuthError if no document came, or if too many unknown URLs were asked for.
   */
  find(url: string, from: string): Promise<ClientByUrl | DocumentRule>;
}

/** The longest time in milliseconds for which a document is used. */
const DAY = 86_400_000;
/** Milliseconds for which a document is used without a new request when its server names no time. */
const UNTOLD = 300_000;
/** The time in milliseconds for which the refusal of a document is kept. */
const REFUSED = 60_000;
/** The time in milliseconds after a failed request in which the gateway sends no other request for the document. */
const AWAY = 5_000;
/** The most documents that are kept, and the most failures. */
const REMEMBERED = 1_000;
/** The longest URL of a client. PostgreSQL cannot index a text of more than 2,700 bytes. */
const URL_MAX = 2_000;

/**
 * Limits requests for unknown URLs: for each network, and in total. Without these limits, the gateway would send as
 * many requests to a believed host as a stranger wants.
 */
const FETCHES = { perMinute: 120, burst: 100 };
const ALL_FETCHES = { perMinute: 600, burst: 300 };
/**
 * The limit for each well-known URL, and for each URL whose last document was valid. A stranger cannot add such a URL.
 * Therefore requests for unknown URLs cannot use up this limit.
 */
const RENEWALS = { perMinute: 6, burst: 6 };

interface Held {
  readonly client: ClientByUrl;
  readonly fetchedAt: number;
  /** The time until which the document is used without a new request. */
  readonly freshUntil: number;
}

export function openClientsByUrl({ hosts, longest, fetch }: ClientsByUrlOptions): ClientsByUrl {
  // Failures have a map of their own. Otherwise a stranger could push out valid documents with URLs that do not exist.
  const valid = new Map<string, Held>();
  const failed = new Map<string, { readonly until: number; readonly broken: DocumentRule | undefined }>();
  const underway = new Map<string, Promise<ClientByUrl | DocumentRule>>();
  const fetches = new RateLimit(FETCHES);
  const all = new TokenBucket(ALL_FETCHES);
  const renewals = new RateLimit(RENEWALS);

  const lastValid = (url: string): ClientByUrl | undefined => {
    const held = valid.get(url);
    return held && performance.now() - held.fetchedAt < DAY ? held.client : undefined;
  };

  const load = async (url: string): Promise<ClientByUrl | DocumentRule> => {
    const fetched = await fetch(url);
    const now = performance.now();
    const read = fetched && 'json' in fetched ? clientOf(url, fetched.json) : fetched?.broken;
    if (fetched && 'json' in fetched && typeof read === 'object') {
      failed.delete(url);
      const lasts = fetched.maxAge === undefined ? UNTOLD : fetched.maxAge * 1_000;
      keepNewest(valid, url, { client: read, fetchedAt: now, freshUntil: now + Math.min(lasts, DAY) }, REMEMBERED);
      return read;
    }
    const broken = typeof read === 'string' ? read : undefined;
    keepNewest(failed, url, { until: now + (broken === undefined ? AWAY : REFUSED), broken }, REMEMBERED);
    // Other JSON, a 404 or a 410 ends the earlier document. Every other answer, such as a redirect or an HTML page,
    // can come from a broken server, so the earlier document stays in use.
    if (broken === 'gone' || (fetched && 'json' in fetched)) valid.delete(url);
    return failing(url, broken);
  };

  /** The last valid document, or the rule that the last answer has broken. Throws if no document came. */
  const failing = (url: string, broken: DocumentRule | undefined): ClientByUrl | DocumentRule => {
    const last = lastValid(url) ?? broken;
    if (last !== undefined) return last;
    throw new OAuthError('temporarily_unavailable', { reason: 'document_unreachable', retryAfter: AWAY / 1_000 });
  };

  /** Takes a unit of the limit for the URL. Returns the seconds to wait if the limit is used up. */
  const admit = (url: string, from: string): number => {
    if (valid.has(url) || WELL_KNOWN.has(url)) {
      const wait = renewals.wait(url);
      if (wait === 0) renewals.failed(url);
      return wait;
    }
    const wait = Math.max(fetches.wait(from), all.wait());
    if (wait === 0) {
      fetches.failed(from);
      all.take();
    }
    return wait;
  };

  return {
    longest,
    offered: hosts.length > 0,
    believed(url) {
      if (url.length > URL_MAX || !isClientUrl(url) || !URL.canParse(url)) return false;
      const { href, hostname, pathname } = new URL(url);
      return href === url && pathname !== '/' && (hosts.includes('*') || hosts.includes(hostname));
    },
    async find(url, from) {
      const held = valid.get(url);
      // The map drops the document that was not used for the longest time.
      if (held) keepNewest(valid, url, held, REMEMBERED);
      const now = performance.now();
      if (held && held.freshUntil > now) return held.client;
      const failure = failed.get(url);
      if (failure && failure.until > now) return failing(url, failure.broken);
      // All requests for the URL wait for the same document.
      const asked = underway.get(url);
      if (asked) return asked;
      const wait = admit(url, from);
      if (wait > 0) {
        const last = lastValid(url);
        if (!last) throw new OAuthError('temporarily_unavailable', { retryAfter: wait });
        return last;
      }
      const client = load(url).finally(() => underway.delete(url));
      underway.set(url, client);
      return client;
    },
  };
}
