import { Bucket, Throttle } from '../../throttle.ts';
import { OAuthError } from '../errors.ts';
import { type HostedClient, hostedClientOf } from './document.ts';

/** Fetches a small JSON document under the rules for requests to other servers (src/events/documents.ts). */
export type FetchDocument = (
  url: string,
) => Promise<{ readonly json: unknown; readonly maxAge: number | undefined } | undefined>;

export interface HostedOptions {
  /** The hosts whose documents are believed, without ports. `*` stands for every host. */
  readonly hosts: readonly string[];
  /** The longest time of a consent, in seconds. */
  readonly longest: number;
  readonly fetch: FetchDocument;
}

export interface HostedClients {
  readonly longest: number;
  /** True when at least one host is believed. */
  readonly offered: boolean;
  /** True when the URL is in its normal form and its host is believed. Sends no request. */
  believed(url: string): boolean;
  /**
   * The client that the document at this URL describes. `undefined` if the document breaks a rule. `from` is the IP
   * address of the person. Throws an OAuthError if no document came, or if too many unknown URLs were asked for.
   */
  find(url: string, from: string): Promise<HostedClient | undefined>;
}

/** The time in milliseconds for which a document is kept: at most, and if its server names no time. */
const DAY = 86_400_000;
const UNTOLD = 300_000;
/** The time in milliseconds for which the refusal of a document is kept. */
const FAILED = 60_000;
/** The time in milliseconds after a failed request in which the gateway sends no other request for the document. */
const AWAY = 5_000;
const REMEMBERED = 1_000;

/**
 * Limits requests for documents that are not kept: for each network, and in total. Without these limits, the gateway
 * would send as many requests to a believed host as a stranger wants.
 */
const FETCHES = { perMinute: 120, burst: 100 };
const ALL_FETCHES = { perMinute: 600, burst: 300 };

interface Kept {
  readonly client: Promise<HostedClient | undefined>;
  until: number;
}

export function openHosted({ hosts, longest, fetch }: HostedOptions): HostedClients {
  const known = new Map<string, Kept>();
  const fetches = new Throttle(FETCHES);
  const all = new Bucket(ALL_FETCHES);

  const load = async (url: string, kept: () => Kept | undefined): Promise<HostedClient | undefined> => {
    const fetched = await fetch(url);
    const client = fetched && hostedClientOf(url, fetched.json);
    const failed = fetched ? FAILED : AWAY;
    const lasts = client ? Math.min(fetched.maxAge === undefined ? UNTOLD : fetched.maxAge * 1_000, DAY) : failed;
    const entry = kept();
    if (entry) entry.until = performance.now() + lasts;
    if (!fetched) {
      throw new OAuthError('temporarily_unavailable', { reason: 'document_unreachable', retryAfter: AWAY / 1_000 });
    }
    return client;
  };

  return {
    longest,
    offered: hosts.length > 0,
    believed(url) {
      if (!isClientUrl(url) || !URL.canParse(url)) return false;
      const { href, hostname, pathname } = new URL(url);
      return href === url && pathname !== '/' && (hosts.includes('*') || hosts.includes(hostname));
    },
    async find(url, from) {
      const before = known.get(url);
      if (before && before.until > performance.now()) return before.client;
      const wait = Math.max(fetches.wait(from), all.wait());
      if (wait > 0) throw new OAuthError('temporarily_unavailable', { retryAfter: wait });
      fetches.failed(from);
      all.take();
      const client = load(url, () => known.get(url));
      known.delete(url);
      // Until the document has come, all requests for the URL wait for the same document.
      known.set(url, { client, until: Number.POSITIVE_INFINITY });
      if (known.size > REMEMBERED) known.delete(known.keys().next().value ?? '');
      return client;
    },
  };
}

/** True for a client id that is a URL. The ids of issued credentials are never URLs. */
export const isClientUrl = (id: string): boolean => /^https?:\/\//i.test(id);
