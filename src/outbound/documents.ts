import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { before, within } from './before.ts';
import { type AddressRule, receiverOf } from './receivers.ts';
import { exchange, readUpTo } from './request.ts';
import { AddressRefused, checkedAddresses, type Resolve, resolveName } from './resolve.ts';

/** A small JSON document from another server. `maxAge` is its permitted cache time in seconds. */
export interface Fetched {
  readonly json: unknown;
  readonly maxAge: number | undefined;
}

/** The rule that the address, the answer or the document breaks. `gone`: the server answers 404 or 410. */
export interface Broken {
  readonly broken: AddressRule | 'redirect' | 'status' | 'gone' | 'type' | 'encoding' | 'size' | 'json';
}

/**
 * Fetches a document. Returns `undefined` if no document came: the name is unknown, the server is away, too slow or
 * busy, or its answer is cut off. Never rejects.
 */
export type DocumentFetcher = (url: string) => Promise<Fetched | Broken | undefined>;

export interface DocumentOptions {
  /** Origins that may use http, any port and a private address. */
  readonly allowed: ReadonlySet<string>;
  readonly userAgent: string;
  readonly resolve?: Resolve;
}

/** Timeout (ms) of a request, from the DNS look-up to the last byte. */
const DEADLINE = 2_000;
const BYTES_MAX = 5_120;
const JSON_TYPE = /^application\/(?:[a-z0-9.-]+\+)?json[ \t]*(?:;|$)/i;

/**
 * Fetches documents under the rules for webhook receivers: https, public addresses, one DNS look-up whose addresses are
 * checked, and no redirect. A document has at most 5 KiB of JSON and arrives within 2 seconds.
 */
export const documentFetcher =
  ({ allowed, userAgent, resolve = resolveName }: DocumentOptions): DocumentFetcher =>
  async (text) => {
    const receiver = receiverOf(text, allowed);
    if ('refused' in receiver) return { broken: receiver.rule };
    const { url, exempt } = receiver;
    return within(DEADLINE, undefined, async (signal): Promise<Fetched | Broken | undefined> => {
      const addresses = await before(signal, checkedAddresses(url, exempt, resolve));
      const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': userAgent };
      return exchange(url, { method: 'GET', headers, addresses, signal }, read);
    }).catch((error: unknown) =>
      // All other failures have the same consequence: no document.
      error instanceof AddressRefused ? { broken: 'public' } : undefined,
    );
  };

const GONE: readonly number[] = [404, 410];
/** Statuses of a server that is too slow or too busy now. */
const BUSY: readonly number[] = [408, 425, 429];

async function read(response: IncomingMessage): Promise<Fetched | Broken | undefined> {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = response.headers;
  const { statusCode: status = 0 } = response;
  if (status >= 500 || BUSY.includes(status)) return undefined;
  if (GONE.includes(status)) return { broken: 'gone' };
  if (status >= 300 && status < 400) return { broken: 'redirect' };
  if (status !== 200) return { broken: 'status' };
  if (encoding !== 'identity') return { broken: 'encoding' };
  if (!JSON_TYPE.test(type)) return { broken: 'type' };
  const body = await readUpTo(response, BYTES_MAX);
  if (!body) return { broken: 'size' };
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    const json: unknown = JSON.parse(text);
    return { json, maxAge: maxAgeOf(response.headers) };
  } catch {
    return { broken: 'json' }; // the body is no UTF-8 or no JSON
  }
}

/**
 * The seconds for which a document stays fresh (RFC 9111, sections 4.2 and 5), less its time in other caches. Undefined
 * if the headers name no lifetime.
 */
function maxAgeOf(headers: IncomingHttpHeaders): number | undefined {
  const { 'cache-control': control = '', expires, date, age = '' } = headers;
  if (/(?:^|[\s,])(?:no-store|no-cache)(?:$|[\s,=])/i.test(control)) return 0;
  const [, seconds] = /(?:^|[\s,])max-age="?(\d{1,9})"?(?:$|[\s,])/i.exec(control) ?? [];
  const lifetime = seconds === undefined ? lifetimeUntil(expires, date) : Number(seconds);
  return lifetime === undefined ? undefined : Math.max(0, lifetime - (/^\d{1,9}$/.test(age) ? Number(age) : 0));
}

/** Seconds from the header Date to the header Expires. A malformed Expires means an expired document. */
function lifetimeUntil(expires: string | undefined, date: string | undefined): number | undefined {
  if (expires === undefined) return undefined;
  const sent = Date.parse(date ?? '');
  const lifetime = Math.floor((Date.parse(expires) - (Number.isNaN(sent) ? Date.now() : sent)) / 1_000);
  return Number.isNaN(lifetime) ? 0 : lifetime;
}
