import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import accepts from 'accepts';
import { entityTag, namesTag } from './entity-tag.ts';
import { send, sendNothing } from './reply.ts';

/**
 * The host in documents that are made once for the hosts of all organizations. The host of the request takes its place
 * in each reply. The top-level domain `invalid` belongs to nobody (RFC 6761).
 */
export const ANY_HOST = 'any-organization.invalid';

/** Seconds that a document may be cached. */
export const DOCUMENT_AGE = 300;

export interface Document {
  readonly type: string;
  readonly headers: OutgoingHttpHeaders;
  /** The body in each content coding, with its own entity tag (RFC 9110, section 8.8.3.3). */
  readonly codings: Readonly<Record<'identity' | 'gzip', { readonly body: Buffer; readonly etag: string }>>;
  /** What stands before, between and after the places of `ANY_HOST`. */
  readonly parts: readonly Buffer[];
}

/** `maxAge` is the cache time in seconds. `csp` replaces the default content security policy. */
export function document(
  type: string,
  text: string | Buffer,
  { maxAge, csp }: { readonly maxAge: number; readonly csp?: string },
): Document {
  const body = Buffer.from(text);
  const gzip = gzipSync(body);
  return {
    type,
    headers: {
      'Cache-Control': `public, max-age=${maxAge}`,
      Vary: 'Accept-Encoding',
      ...(csp !== undefined && { 'Content-Security-Policy': csp }),
    },
    codings: {
      identity: { body, etag: entityTag(body) },
      gzip: { body: gzip, etag: entityTag(gzip) },
    },
    parts: body.includes(ANY_HOST)
      ? body
          .toString()
          .split(ANY_HOST)
          .map((part) => Buffer.from(part))
      : [body],
  };
}

/** `host` takes the place of `ANY_HOST`. */
export function sendDocument(request: IncomingMessage, response: ServerResponse, one: Document, host?: string): void {
  const named = host !== undefined && one.parts.length > 1;
  const gzip = !named && accepts(request).encoding(['gzip', 'identity']) === 'gzip';
  const { body, etag } = one.codings[gzip ? 'gzip' : 'identity'];
  const headers = { ...one.headers, ETag: named ? entityTag(`${etag}${host}`) : etag };
  if (namesTag(request.headers['if-none-match'], headers.ETag)) {
    sendNothing(request, response, 304, headers);
    return;
  }
  // Not compressed: 250 kB would take 3.7 to 4.5 ms in place of 1.4, for each host anew, and a caller can go through many
  // hosts.
  if (named) {
    const name = Buffer.from(host);
    const all = one.parts.flatMap((part, n) => (n === 0 ? [part] : [name, part]));
    send(request, response, 200, one.type, Buffer.concat(all), headers);
  } else {
    const all = { ...headers, ...(gzip && { 'Content-Encoding': 'gzip' }) };
    send(request, response, 200, one.type, body, all, { shared: true });
  }
}
