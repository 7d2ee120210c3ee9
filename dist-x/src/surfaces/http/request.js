import { Failure } from '../../core/failures.js';
/** Headers that may occur only once. Of two, Node silently keeps the first, or joins both (check HT-08). */
const SINGLETONS = new Set([
    'authorization',
    'idempotency-key',
    'if-match',
    'content-type',
    'content-length',
    'host',
    'origin',
    'range',
]);
const ONCE = 'the header once';
/** Throws for an ambiguous request: Host is missing (RFC 9112, section 3.2), or a singleton occurs twice. */
export function refuseAmbiguous(request) {
    if (request.headers.host === undefined && request.httpVersion === '1.1')
        throw new Failure('invalid_request');
    const seen = new Set();
    for (let i = 0; i < request.rawHeaders.length; i += 2) {
        const name = request.rawHeaders[i]?.toLowerCase() ?? '';
        if (!SINGLETONS.has(name))
            continue;
        if (seen.has(name))
            throw new Failure('duplicate_parameter', {
                errors: [{ parameter: name, code: 'duplicate_parameter', expected: ONCE }],
            });
        seen.add(name);
    }
}
export function refuseOrigins(request) {
    const sent = request.rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'origin');
    if (sent.length > 1)
        throw new Failure('invalid_request', {
            errors: [{ parameter: 'Origin', code: 'duplicate_parameter', expected: ONCE }],
        });
}
/** Refuses an unexpected body, because ignoring it would mislead its sender. Closes the connection. */
export function refuseBody(request, response) {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    if (encoding === undefined && (length === undefined || /^0+$/.test(length)))
        return;
    response.setHeader('Connection', 'close');
    throw new Failure('invalid_request');
}
/** The token of `Authorization: Bearer …` (RFC 6750, section 2.1). Undefined for an absent or different header. */
export function bearerOf(request) {
    return /^Bearer ([A-Za-z0-9._~+/-]+=*)$/i.exec(request.headers.authorization ?? '')?.[1];
}
export const pathOf = ({ url = '' }) => url.split('?', 1)[0] ?? '';
export function queryOf(request) {
    const url = request.url ?? '';
    const cut = url.indexOf('?');
    return cut === -1 ? '' : url.slice(cut + 1);
}
/**
 * Splits the URL of a request to an endpoint. Undefined for another path. One slash at the end is allowed, because some
 * HTTP libraries add one to a base address.
 */
export function atEndpoint(request, endpoint) {
    const [, path = '', query = ''] = /^([^?]*)(.*)$/s.exec(request.url ?? '') ?? [];
    const below = path.slice(endpoint.length).replace(/\/$/, '');
    return path.startsWith(endpoint) && /^(?:\/|$)/.test(below) ? { below, query } : undefined;
}
//# sourceMappingURL=request.js.map