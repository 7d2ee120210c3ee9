import { isIP } from 'node:net';
import { isPublic } from './addresses.js';
const URL_MAX = 2048;
const PORTS = ['', '443', '8443'];
/** Names outside the public DNS (RFC 6761, RFC 6762, RFC 8375, and names of cloud providers). */
const PRIVATE_NAME = /(^|\.)(localhost|localdomain|local|internal|home\.arpa)$/;
/**
 * Checks a receiver's URL. The host's IP addresses are checked later, when its name is resolved. The URL parser turns
 * every notation of an IP address into the usual one: `127.1` becomes 127.0.0.1.
 */
export function receiverOf(text, allowed) {
    if (!/^[\x21-\x5b\x5d-\x7e]+$/.test(text) || !URL.canParse(text))
        return { refused: 'The address of a receiver must be an https URL in ASCII.', rule: 'form' };
    const url = new URL(text);
    // Check the normalized URL, because the store saves this form. It can be longer: percent-encoding can turn one
    // character into three.
    if (url.href.length > URL_MAX)
        return { refused: `The address of a receiver must have at most ${URL_MAX} characters.`, rule: 'form' };
    if (url.username + url.password !== '' || /^[^/?#]*\/\/[^/?#]*@/.test(text)) {
        return { refused: 'The address of a receiver must not hold a user or password.', rule: 'user' };
    }
    if (url.hash !== '' || text.includes('#'))
        return { refused: 'The address of a receiver must not have a fragment.', rule: 'fragment' };
    if (allowed.has(url.origin))
        return { url, exempt: true };
    const { origin } = url;
    if (url.protocol !== 'https:') {
        const refused = 'The address of a receiver must be an https URL.';
        return { refused, rule: 'https', ...(url.protocol === 'http:' && { origin }) };
    }
    if (!PORTS.includes(url.port))
        return { refused: 'A receiver must listen on port 443 or 8443.', rule: 'port', origin };
    const host = hostOf(url);
    if (isIP(host) !== 0) {
        return isPublic(host)
            ? { url, exempt: false }
            : { refused: 'A receiver must have a public address.', rule: 'public', origin };
    }
    if (!host.includes('.') || host.endsWith('.') || PRIVATE_NAME.test(host)) {
        return { refused: 'A receiver must have a public host name.', rule: 'public', origin };
    }
    return { url, exempt: false };
}
export const hostOf = (url) => url.hostname.replace(/^\[|\]$/g, '');
//# sourceMappingURL=receivers.js.map