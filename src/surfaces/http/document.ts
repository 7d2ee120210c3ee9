import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import accepts from 'accepts';
import { entityTag, namesTag } from './entity-tag.ts';
import { send, sendNothing } from './reply.ts';

/** Seconds that a document may be cached. */
export const DOCUMENT_AGE = 300;

export interface Document {
  readonly type: string;
  readonly headers: OutgoingHttpHeaders;
  /** The body in each content coding, with its own entity tag (RFC 9110, section 8.8.3.3). */
  readonly codings: Readonly<Record<'identity' | 'gzip', { readonly body: Buffer; readonly etag: string }>>;
}

/**
 * Makes a value at its first call, because most processes never serve most of the documents. After a promise that fails,
 * the next call tries again.
 */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    if (made) return made.value;
    const value = make();
    made = { value };
    if (value instanceof Promise) value.catch(() => (made = undefined));
    return value;
  };
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
  };
}

export function sendDocument(request: IncomingMessage, response: ServerResponse, one: Document): void {
  const coding = accepts(request).encoding(['gzip', 'identity']) === 'gzip' ? 'gzip' : 'identity';
  const { body, etag } = one.codings[coding];
  const headers = { ...one.headers, ETag: etag };
  if (namesTag(request.headers['if-none-match'], etag)) {
    sendNothing(request, response, 304, headers);
    return;
  }
  const all = { ...headers, ...(coding === 'gzip' && { 'Content-Encoding': coding }) };
  send(request, response, 200, one.type, body, all, { shared: true });
}
