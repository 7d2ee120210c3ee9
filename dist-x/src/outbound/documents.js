import { before } from './before.js';
import { receiverOf } from './receivers.js';
import { exchange, readUpTo } from './request.js';
import { AddressRefused, checkedAddresses, resolveName } from './resolve.js';
/** Timeout (ms) of a request, from the DNS look-up to the last byte. */
const DEADLINE = 2_000;
const BYTES_MAX = 5_120;
const JSON_TYPE = /^application\/(?:[a-z0-9.-]+\+)?json[ \t]*(?:;|$)/i;
/**
 * Fetches documents under the rules for webhook receivers: https, public addresses, one DNS look-up whose addresses are
 * checked, and no redirect. A document has at most 5 KiB of JSON and arrives within 2 seconds.
 */
export const documentFetcher = ({ allowed, userAgent, resolve = resolveName }) => async (text) => {
    const receiver = receiverOf(text, allowed);
    if ('refused' in receiver)
        return { broken: receiver.rule };
    const { url, exempt } = receiver;
    const cut = new AbortController();
    const timer = setTimeout(() => cut.abort(), DEADLINE);
    try {
        const addresses = await before(cut.signal, checkedAddresses(url, exempt, resolve));
        const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': userAgent };
        return await exchange(url, { method: 'GET', headers, addresses, signal: cut.signal }, read);
    }
    catch (error) {
        // All other failures have the same consequence: no document.
        return error instanceof AddressRefused ? { broken: 'public' } : undefined;
    }
    finally {
        clearTimeout(timer);
    }
};
const GONE = [404, 410];
/** Statuses of a server that is too slow or too busy now. */
const BUSY = [408, 425, 429];
async function read(response) {
    const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = response.headers;
    const { statusCode: status = 0 } = response;
    if (status >= 500 || BUSY.includes(status))
        return undefined;
    if (GONE.includes(status))
        return { broken: 'gone' };
    if (status >= 300 && status < 400)
        return { broken: 'redirect' };
    if (status !== 200)
        return { broken: 'status' };
    if (encoding !== 'identity')
        return { broken: 'encoding' };
    if (!JSON_TYPE.test(type))
        return { broken: 'type' };
    const body = await readUpTo(response, BYTES_MAX);
    if (!body)
        return { broken: 'size' };
    try {
        const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
        const json = JSON.parse(text);
        return { json, maxAge: maxAgeOf(response.headers) };
    }
    catch {
        return { broken: 'json' }; // the body is no UTF-8 or no JSON
    }
}
/**
 * The seconds for which a document stays fresh (RFC 9111, sections 4.2 and 5), less its time in other caches. Undefined
 * if the headers name no lifetime.
 */
function maxAgeOf(headers) {
    const { 'cache-control': control = '', expires, date, age = '' } = headers;
    if (/(?:^|[\s,])(?:no-store|no-cache)(?:$|[\s,=])/i.test(control))
        return 0;
    const [, seconds] = /(?:^|[\s,])max-age="?(\d{1,9})"?(?:$|[\s,])/i.exec(control) ?? [];
    const lifetime = seconds === undefined ? lifetimeUntil(expires, date) : Number(seconds);
    return lifetime === undefined ? undefined : Math.max(0, lifetime - (/^\d{1,9}$/.test(age) ? Number(age) : 0));
}
/** Seconds from the header Date to the header Expires. A malformed Expires means an expired document. */
function lifetimeUntil(expires, date) {
    if (expires === undefined)
        return undefined;
    const sent = Date.parse(date ?? '');
    const lifetime = Math.floor((Date.parse(expires) - (Number.isNaN(sent) ? Date.now() : sent)) / 1_000);
    return Number.isNaN(lifetime) ? 0 : lifetime;
}
//# sourceMappingURL=documents.js.map