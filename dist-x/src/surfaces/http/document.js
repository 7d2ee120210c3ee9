import { gzipSync } from 'node:zlib';
import accepts from 'accepts';
import { entityTag, namesTag } from './entity-tag.js';
import { send, sendNothing } from './reply.js';
/** Seconds that a document may be cached. */
export const DOCUMENT_AGE = 300;
/**
 * Makes a value at its first call, because most processes never serve most of the documents. After a promise that fails,
 * the next call tries again.
 */
export function once(make) {
    let made;
    return () => {
        if (made)
            return made.value;
        const value = make();
        made = { value };
        if (value instanceof Promise)
            value.catch(() => (made = undefined));
        return value;
    };
}
/** `maxAge` is the cache time in seconds. `csp` replaces the default content security policy. */
export function document(type, text, { maxAge, csp }) {
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
export function sendDocument(request, response, one) {
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
//# sourceMappingURL=document.js.map