import { before } from './before.js';
import { exchange, readUpTo } from './request.js';
import { checkedAddresses, resolveName } from './resolve.js';
/** The largest answer of an identity provider in bytes. Known providers answer with less than 50 KB. */
const BYTES_MAX = 512 * 1024;
/**
 * Sends the requests to the identity provider. The operator has named the provider, so it may have a private address.
 * The built-in fetch reads a body without a bound: in 5 s a hostile provider sent 175 MiB in one answer, and the memory
 * grew by 295 MiB (24 November 2026).
 */
export const fetchFromProvider = async (address, { method, headers, body, signal }) => {
    if (body !== undefined && body !== null && typeof body !== 'string' && !(body instanceof URLSearchParams))
        throw new TypeError('a request to the identity provider has a form or no body');
    const cut = signal ?? new AbortController().signal;
    const url = new URL(address);
    try {
        const outbound = {
            method: method === 'POST' ? 'POST' : 'GET',
            headers: { ...headers, 'accept-encoding': 'identity' },
            addresses: await before(cut, checkedAddresses(url, true, resolveName)),
            signal: cut,
        };
        return await exchange(url, outbound, responseOf, body?.toString());
    }
    catch (error) {
        // The library expects the errors of the built-in fetch.
        throw cut.aborted ? cut.reason : new TypeError('a request to the identity provider failed', { cause: error });
    }
};
async function responseOf(answer) {
    const { statusCode = 0, headers } = answer;
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
        throw new Error('the identity provider sent a compressed answer');
    if (statusCode === 101)
        throw new Error('the identity provider asked for another protocol');
    const body = await readUpTo(answer, BYTES_MAX);
    if (!body)
        throw new Error('the identity provider sent too much');
    const kept = ['content-type', 'www-authenticate'].flatMap((name) => {
        const value = headers[name];
        return value === undefined ? [] : [[name, value]];
    });
    // A status such as 204 permits no body, not even an empty one.
    return new Response(body.length === 0 ? null : new Uint8Array(body), { status: statusCode, headers: kept });
}
//# sourceMappingURL=identity-fetch.js.map